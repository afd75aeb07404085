"""The range search gives an int8 tensor a narrower or wider range only if that makes the outputs of the network more
exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import Observations, observe
from arenite.converters.quantize.graph.type_assignment import activation_quantization
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import Recipe, load_recipe
from arenite.converters.quantize.remedies.output_distance import OutputDistance
from arenite.converters.quantize.remedies.range_search import better_ranges
from arenite.converters.quantize.remedies.rounded_graph import dependent_graph
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, Samples, samples_for
from tests.converters.quantize.quantized_runs import run

PLAIN = load_recipe("int8")


def saturating() -> Model:
    """Return a network whose TANH saturates for most values."""
    n = FloatNet(5)
    x = n.dense(n.input((1, 8), "float32"), 12)
    wide = n.layer("MUL", [x, n.real([20.0])], (1, 12), "MulOptions")
    return n.model([n.dense(n.layer("TANH", [wide], (1, 12)), 5)])


def observed(model: Model, count: int = 128) -> tuple[bytes, Observations]:
    """Return the file of the model and its observations on ``count`` samples."""
    flatbuffer = to_flatbuffer(model)
    return flatbuffer, observe(flatbuffer, samples_for(model, count))


def name_of(model: Model, op: str, position: int = 0) -> str:
    """Return the name of an input of the only operator ``op``."""
    (found,) = [o for o in model.main.ops if o.name == op]
    return model.main.tensors[found.inputs[position]].name


def test_the_range_of_a_saturating_input_becomes_narrower_and_the_outputs_more_exact() -> None:
    model = saturating()
    flatbuffer, observations = observed(model)
    ranges = better_ranges(flatbuffer, PLAIN, observations).ranges
    name = name_of(model, "TANH")
    seen = next(s for s in observations.tensors.values() if s.name == name)
    low, high = ranges[name]
    assert seen.low < 2 * low < 0 < 2 * high < seen.high
    others = samples_for(model, 300, seed=8).inputs
    exact = run(flatbuffer, others)

    def error(recipe: Recipe) -> float:
        return float(
            np.abs(run(quantize(flatbuffer, recipe, observations).flatbuffer, others) - exact).mean()
        )

    assert error(replace(PLAIN, ranges=ranges)) < 0.8 * error(PLAIN)


def test_very_negative_logits_are_clipped_but_not_the_logits_that_decide() -> None:
    n = FloatNet(2)
    x = n.dense(n.input((1, 8), "float32"), 6)
    far = n.layer("SUB", [x, n.real([0.0, 0.0, 0.0, 60.0, 60.0, 60.0])], (1, 6), "SubOptions")
    model = n.model([n.layer("SOFTMAX", [far], (1, 6), "SoftmaxOptions", beta=1.0)])
    flatbuffer, observations = observed(model)
    low, high = better_ranges(flatbuffer, PLAIN, observations).ranges[name_of(model, "SOFTMAX")]
    logits = next(s for s in observations.tensors.values() if s.name == name_of(model, "SOFTMAX"))
    # The last three logits are near -60. The chosen range contains the first three, which decide.
    assert -40 < low < logits.channel_low[:3].min() * 0.9 and high > 0.6 * logits.high


def test_two_searches_give_the_same_ranges_and_none_for_the_model_input() -> None:
    model = saturating()
    flatbuffer, observations = observed(model)
    ranges = better_ranges(flatbuffer, PLAIN, observations).ranges
    assert ranges == better_ranges(flatbuffer, PLAIN, observations).ranges
    assert model.main.tensors[model.main.inputs[0]].name not in ranges


def test_rare_large_values_change_no_range() -> None:
    """One sample of 256 has values that are 200 times as large. The other samples do not show what it costs to clip
    such values, so no range is changed."""
    n = FloatNet(5)
    x = n.input((1, 8), "float32")
    wide = n.layer("MUL", [n.dense(x, 12), n.real([20.0])], (1, 12), "MulOptions")
    saturated = n.dense(n.layer("TANH", [wide], (1, 12)), 5)
    model = n.model([n.layer("ADD", [saturated, n.dense(x, 5)], (1, 5), "AddOptions")])
    flatbuffer = to_flatbuffer(model)
    rng = np.random.default_rng(6)
    samples = Samples([[rng.uniform(-1, 1, (1, 8)).astype(np.float32)] for _ in range(256)])
    assert better_ranges(flatbuffer, PLAIN, observe(flatbuffer, samples)).ranges
    samples.inputs[77] = [200 * x for x in samples.inputs[77]]
    better = better_ranges(flatbuffer, PLAIN, observe(flatbuffer, samples))
    assert not better.ranges and better.are_tails_unknown


def test_a_range_becomes_wider_where_clipping_other_samples_costs_more_than_larger_steps() -> None:
    n = FloatNet(0)
    x = n.input((1, 16), "float32")
    wide = n.layer("MUL", [n.dense(x, 12), n.real([10.0])], (1, 12), "MulOptions")
    saturated = n.layer("TANH", [wide], (1, 12))
    hidden = n.dense(x, 4)
    model = n.model([n.layer("ADD", [n.dense(hidden, 3), n.dense(saturated, 3)], (1, 3), "AddOptions")])
    flatbuffer = to_flatbuffer(model)
    rng = np.random.default_rng(6)
    samples = Samples([[rng.uniform(-1, 1, (1, 16)).astype(np.float32)] for _ in range(256)])
    observations = observe(flatbuffer, samples)
    better = better_ranges(flatbuffer, PLAIN, observations)
    low, high = better.ranges[model.main.tensors[hidden].name]
    seen = observations.tensors[hidden]
    assert low < 1.05 * seen.low and high > 1.05 * seen.high
    low, high = better.ranges[model.main.tensors[wide].name]
    assert low > 0.5 * observations.tensors[wide].low and high < 0.5 * observations.tensors[wide].high
    assert 0 <= better.clipping < 0.1 * better.observed_clipping


def test_few_samples_change_no_range() -> None:
    model = saturating()
    flatbuffer, observations = observed(model, 24)
    assert better_ranges(flatbuffer, PLAIN, observations).ranges == {}


@pytest.mark.parametrize("clip", [False, True])
def test_a_partial_model_clips_or_rounds_the_chosen_tensor(clip: bool) -> None:
    model = saturating()
    graph = model.main
    (tanh,) = [op for op in graph.ops if op.name == "TANH"]
    part = dependent_graph(parse(to_flatbuffer(model)), {tanh.inputs[0]})
    assert part.inputs == (tanh.inputs[0],) and tanh.outputs[0] in part.computed
    values = np.linspace(-3, 3, 12, dtype=np.float32)[None]
    if clip:
        flatbuffer = part.clipped_model(-1.0, 0.5, [tanh.outputs[0]])
        expected = np.tanh(np.clip(values, -1.0, 0.5))
    else:
        scale = activation_quantization(-4.0, 4.0, "int8")
        flatbuffer = part.rounded_model(scale, [tanh.outputs[0]])
        expected = np.tanh(np.rint(values / scale.scale[0]) * scale.scale[0])
    ((actual,),) = run_outputs(flatbuffer, [[values]])
    assert np.abs(actual - expected).max() < 1e-6


def test_an_error_of_a_logit_has_the_weight_of_its_effect_on_the_probabilities() -> None:
    n = FloatNet(1)
    x = n.dense(n.input((1, 4), "float32"), 3)
    graph = n.model([n.layer("SOFTMAX", [x], (1, 3), "SoftmaxOptions", beta=1.0)]).main
    logits = np.array([[[4.0, 3.5, -99.0]]])
    distance = OutputDistance(graph, [logits])
    (far,) = distance.errors([logits + np.array([0, 0, 10.0])])
    (near,) = distance.errors([logits + np.array([0, 0.5, 0])])
    assert distance.probes == [x] and far < 1e-9 < 1e-3 < near
    assert distance.errors([logits + 5.0])[0] == pytest.approx(0, abs=1e-12)  # the same probabilities
