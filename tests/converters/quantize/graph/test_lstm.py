"""LSTM layers are simulated as LiteRT computes them, and quantized with little error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.lstm import cell_quantization, is_supported_lstm, simulate
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.weights.integer_weights import sqnr_db
from arenite.converters.tflite.litert.interpreter import run_tensor_values
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.generator.operator_needs import check_supported
from tests.converters.quantize.float_models import FloatNet, samples_for
from tests.converters.quantize.quantized_runs import quality, run

#: The time steps and features of the input, and the units of the LSTM.
STEPS, FEATURES, UNITS = 10, 6, 8


def recurrent(*, clip: float = 10.0, peephole: bool = False, scale: float = 0.4) -> Model:
    """Return a model with an LSTM and a dense layer. ``scale`` is the standard deviation of the LSTM's weights."""
    n = FloatNet(21)
    x = n.input((1, STEPS, FEATURES), "float32")
    # 1 to 4 are input weights, 5 to 8 recurrent weights, 9 to 11 peephole weights, 12 to 15 biases, 18 and 19 the
    # states.
    inputs = [-1] * 24
    inputs[0] = x
    for k in range(4):
        inputs[1 + k] = n.random(UNITS, FEATURES, scale=scale)
        inputs[5 + k] = n.random(UNITS, UNITS, scale=scale)
        inputs[12 + k] = n.random(UNITS, scale=0.2)
    if peephole:
        inputs[9], inputs[10], inputs[11] = (n.random(UNITS) for _ in range(3))
    inputs[18] = n.tensor((1, UNITS), "float32", variable=True)
    inputs[19] = n.tensor((1, UNITS), "float32", variable=True)
    y = n.layer(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, (1, STEPS, UNITS), "UnidirectionalSequenceLSTMOptions",
        fused_activation_function=4,  # TANH
        cell_clip=clip, time_major=False,
    )  # fmt: skip
    return n.model([n.dense(n.flat(y), 4)])


@pytest.mark.parametrize("clip", [0.0, 0.3])
def test_the_simulation_agrees_with_litert(clip: float) -> None:
    model = recurrent(clip=clip)
    op = model.main.ops[0]
    indices = [op.inputs[0], op.outputs[0]]
    for values in run_tensor_values(to_flatbuffer(model), samples_for(model, 5).inputs, indices):
        cells, outputs = simulate(model.main, op, values[indices[0]])
        assert np.allclose(outputs, values[indices[1]][0], atol=1e-5)
        assert clip == 0 or np.abs(cells).max() <= clip


@pytest.mark.parametrize("scale", [0.4, 1.5])
def test_an_lstm_is_quantized(scale: float) -> None:
    model = recurrent(scale=scale)
    flatbuffer, data = to_flatbuffer(model), samples_for(model)
    quantized = quantize(flatbuffer, load_recipe("int8"), observe(flatbuffer, data))
    assert quantized.notes == ()
    integer_model = parse(quantized.flatbuffer)
    check_supported(integer_model)
    assert sqnr_db(run(flatbuffer, data.inputs), run(quantized.flatbuffer, data.inputs)) > 24
    cell = integer_model.main.tensors[integer_model.main.ops[0].inputs[19]]
    largest = max(
        np.abs(simulate(model.main, model.main.ops[0], sample[0])[0]).max() for sample in data.inputs
    )
    # The range of the int16 cell state is the smallest power of two that contains its largest value.
    assert cell.scale * 32768 / 2 < max(largest, 1.0) <= cell.scale * 32768


def test_an_lstm_runs_in_int8_beside_layers_of_other_types() -> None:
    assert quality(recurrent(), load_recipe("int16x8")) > 24
    assert quality(recurrent(), load_recipe("int8"), only=[0]) > 24
    assert quality(recurrent(), load_recipe("int8"), only=[2]) > 24


def test_an_unsupported_lstm_stays_float_and_gives_a_note() -> None:
    model = recurrent(peephole=True)
    assert not is_supported_lstm(model.main, model.main.ops[0])
    flatbuffer = to_flatbuffer(model)
    quantized = quantize(flatbuffer, load_recipe("int8"), observe(flatbuffer, samples_for(model)))
    assert "Layer 0 UNIDIRECTIONAL_SEQUENCE_LSTM has peepholes" in quantized.notes[0]
    other_op = replace(model.main.ops[0], name="CONV_2D")
    assert not is_supported_lstm(model.main, other_op)


def test_cell_scales_are_powers_of_two_that_the_kernel_supports() -> None:
    scales = [cell_quantization(x).scale[0] * 32768 for x in (0.0, 0.3, 1.0, 1.1, 3.9, 10.0, 1e9)]
    assert scales == [1, 1, 1, 2, 4, 16, 64]
