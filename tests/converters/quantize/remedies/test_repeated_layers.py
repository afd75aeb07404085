"""A remedy gives all copies of a layer in the steps of a loop the same type, so that the steps can still
become one loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.converters.graph.loop import LOOP, loop_of
from arenite.converters.graph.model import Model
from arenite.converters.passes.fold_constants import fold_constants
from arenite.converters.passes.loops.copies import copies_by_operator
from arenite.converters.passes.loops.repeated_body import find_repeated_bodies
from arenite.converters.passes.loops.roll import roll_loops
from arenite.converters.quantize.calibration.observations import Observations, observe
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import LayerRule, Recipe, load_recipe
from arenite.converters.quantize.remedies.layer_order import layers_by_int8_loss, with_int16
from arenite.converters.quantize.search.search_space import space_for
from arenite.converters.quantize.sensitivity.sensitivity import sensitivity
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.passes.loops.recurrent_models import CELLS, FEATURES, RecurrentNet
from tests.converters.quantize.float_models import samples_for

#: The time steps of the recurrent layers.
STEPS = 6


def recurrent(cell: str, outputs: str = "last") -> tuple[bytes, Observations]:
    """Return a simplified recurrent model and its observations. Its output is "last" or "all" steps."""
    n = RecurrentNet(cell)
    hidden = n.recurrent(n.steps_of(n.input((1, STEPS, FEATURES), "float32")))
    flatbuffer, _ = simplify(
        to_flatbuffer(n.model([n.dense(hidden[-1], 4) if outputs == "last" else n.pack(hidden)]))
    )
    return flatbuffer, observe(flatbuffer, samples_for(parse(flatbuffer)))


def rolled(flatbuffer: bytes, observations: Observations, recipe: Recipe) -> Model:
    """Return the quantized model with loops, as firmware gets it."""
    model = parse(quantize(flatbuffer, recipe, observations).flatbuffer)
    repeated = {k for body in find_repeated_bodies(model.main) for k in body.ops}
    return roll_loops(fold_constants(model, repeated)[0])[0]


@pytest.mark.slow
@pytest.mark.parametrize("outputs", ["last", "all"])
@pytest.mark.parametrize("cell", CELLS)
def test_int16_in_any_layer_leaves_one_loop_over_all_steps(cell: str, outputs: str) -> None:
    flatbuffer, observations = recurrent(cell, outputs)
    graph = parse(flatbuffer).main
    copies = copies_by_operator(graph)
    repeated = sorted({lane[0] for lane in copies.values() if len(lane) > 1})
    assert len(repeated) >= 4
    for layers in ([], *([k] for k in repeated), repeated[::2], repeated[1::3]):
        recipe = with_int16(load_recipe("int8"), graph, layers, inputs_and_outputs=len(layers) > 1)
        model = rolled(flatbuffer, observations, recipe)
        loops = [loop for op in model.main.ops if (loop := loop_of(op)) is not None]
        assert [loop.steps for loop in loops] == [STEPS], layers
        assert {op.name for op in model.main.ops} <= {LOOP, "FULLY_CONNECTED", "QUANTIZE"}, layers


def test_a_rule_for_one_copy_of_a_layer_applies_to_all_copies() -> None:
    flatbuffer, observations = recurrent("gru")
    graph = parse(flatbuffer).main
    lane = next(lane for lane in copies_by_operator(graph).values() if len(lane) > 1)
    recipe = load_recipe("int8").with_layers(LayerRule(f"#{lane[3]}", {"activations": "int16"}))
    layers = quantize(flatbuffer, recipe, observations).layers
    assert {layers[k].activations for k in lane} == {"int16"}


@pytest.mark.slow
def test_a_layer_is_listed_once_for_all_copies() -> None:
    flatbuffer, observations = recurrent("lstm")
    graph = parse(flatbuffer).main
    copies = copies_by_operator(graph)
    firsts = {lane[0] for lane in copies.values()}
    samples = [list(row) for row in samples_for(parse(flatbuffer), 8).inputs]
    dataset = Dataset(samples, None, {}, "00" * 32, Path("made.npz"))
    layers = layers_by_int8_loss(flatbuffer, load_recipe("int8"), observations, dataset)
    assert len(set(layers)) == len(layers) and set(layers) <= firsts
    assert {c.layer for c in space_for(parse(flatbuffer), load_recipe("int8")).layers} <= firsts
    result = sensitivity(flatbuffer, load_recipe("int8"), observations, dataset, kinds=("int8",), samples=4)
    assert {s.layer for s in result.layers} <= firsts
