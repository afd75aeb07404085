"""The steps of a recurrent layer get the same types, scales and constants, and lose no accuracy by that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.passes.loops.repeated_body import find_repeated_bodies
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph import type_assignment
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import LayerRule, Recipe, load_recipe
from arenite.converters.quantize.weights.integer_weights import sqnr_db
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.passes.loops.recurrent_models import (
    CELLS,
    UNITS,
    RecurrentNet,
    quantized,
    recurrent_model,
)
from tests.converters.quantize.float_models import Samples, samples_for
from tests.converters.quantize.quantized_runs import run

#: The time steps of the recurrent layers.
STEPS = 24


def simplified(model: Model) -> tuple[bytes, Samples]:
    """Return the simplified model and 40 calibration samples."""
    flatbuffer, _ = simplify(to_flatbuffer(model))
    return flatbuffer, samples_for(parse(flatbuffer), count=40)


def quality(flatbuffer: bytes, data: Samples, recipe: Recipe) -> float:
    """Return the SQNR in dB of the quantized model."""
    result = quantize(flatbuffer, recipe, observe(flatbuffer, data)).flatbuffer
    return sqnr_db(run(flatbuffer, data.inputs), run(result, data.inputs))


@pytest.mark.parametrize("recipe", ["int8", "int8_mse", "w4", "int16x8"])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.slow
def test_all_steps_have_the_same_scales_and_constants(cell: str, recipe: str) -> None:
    flatbuffer, data = simplified(recurrent_model(cell))
    (body,) = find_repeated_bodies(parse(flatbuffer).main)
    graph = parse(quantize(flatbuffer, load_recipe(recipe), observe(flatbuffer, data)).flatbuffer).main
    (quantized_body,) = find_repeated_bodies(graph)
    assert quantized_body.steps == body.steps
    assert len(quantized_body.lanes) >= len(body.lanes)
    biases = {i for op in graph.ops if op.name == "FULLY_CONNECTED" for i in op.inputs[2:] if i >= 0}
    assert len(biases) == 2  # of the recurrent and of the dense layer


def test_the_cell_state_of_an_lstm_has_sixteen_bits() -> None:
    """Every step adds to the cell state, so rounding errors add up."""
    flatbuffer, data = simplified(recurrent_model("lstm"))
    observations = observe(flatbuffer, data)
    recipe = load_recipe("int8")

    def types(recipe: Recipe) -> set[tuple[str, str]]:
        graph = parse(quantize(flatbuffer, recipe, observations).flatbuffer).main
        return {(op.name, graph.tensors[op.outputs[0]].dtype) for op in graph.ops}

    assert {t for t in types(recipe) if t[0] in ("ADD", "MUL", "TANH", "LOGISTIC")} == {
        ("ADD", "int8"),  # the sum of both products
        ("ADD", "int16"),
        ("MUL", "int8"),  # the output
        ("MUL", "int16"),
        ("TANH", "int8"),
        ("LOGISTIC", "int8"),
    }
    chosen = recipe.with_layers(
        LayerRule("ADD", {"activations": "int8"}), LayerRule("MUL", {"activations": "int8"})
    )
    assert not any(dtype == "int16" for _, dtype in types(chosen))


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.slow
def test_scales_that_steps_share_cost_at_most_3_db(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal-to-noise ratio is compared with that of separate scales for each step. For an LSTM, the int16 cell
    state gains more than shared scales lose."""
    flatbuffer, data = simplified(recurrent_model(cell, steps=STEPS))
    shared = quality(flatbuffer, data, load_recipe("int8"))
    monkeypatch.setattr(type_assignment, "share_scales_of_steps", lambda *_: {})
    monkeypatch.setattr(type_assignment, "accumulating_ops", lambda *_: frozenset())
    separate = quality(flatbuffer, data, load_recipe("int8"))
    assert shared > 20 and shared > separate - 3, (shared, separate)
    if cell == "lstm":
        assert shared > separate


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_a_state_input_has_the_type_and_scale_of_its_state_output(cell: str) -> None:
    """A program that runs the model on one part of a sequence after another copies the bytes of the state from the
    output to the input."""
    n = RecurrentNet(cell)
    rows = n.steps_of(n.input((1, 8, 5), "float32"))
    n.recurrent(rows[:1])
    h, c = n.input((1, UNITS), "float32"), n.input((1, UNITS), "float32") if cell == "lstm" else -1
    states = [h, c][: 1 + (c >= 0)]
    for row in rows:
        h, c = getattr(n, f"_{cell}")(row, h, c)
    graph = quantized(n.model([h, c][: len(states)])).main
    (body,) = find_repeated_bodies(graph)
    assert body.steps == 8
    for i, o in zip(graph.inputs[1:], graph.outputs, strict=True):
        assert (graph.tensors[i].dtype, graph.tensors[i].quant) == (
            graph.tensors[o].dtype,
            graph.tensors[o].quant,
        )


def test_corrected_biases_are_the_same_in_all_steps() -> None:
    flatbuffer, data = simplified(recurrent_model("rnn"))
    recipe = replace(load_recipe("int8"), bias_correction=True)
    result = quantize(flatbuffer, recipe, observe(flatbuffer, data))
    plain = quantize(flatbuffer, load_recipe("int8"), observe(flatbuffer, data))
    assert len(find_repeated_bodies(parse(result.flatbuffer).main)) == 1
    assert result.flatbuffer != plain.flatbuffer


def test_a_layer_that_is_quantized_alone_keeps_the_others_float() -> None:
    flatbuffer, data = simplified(recurrent_model("lstm"))
    observations = observe(flatbuffer, data)
    for layer in (2, 9, 12):
        result = quantize(flatbuffer, load_recipe("int8"), observations, only=[layer]).flatbuffer
        difference = run(flatbuffer, data.inputs) - run(result, data.inputs)
        assert np.abs(difference).max() < 0.5
