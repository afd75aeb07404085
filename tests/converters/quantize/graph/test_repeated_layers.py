"""Frameworks write some activations, such as PReLU, with several copies of the layer before. After ``simplify``, the
layer is computed once."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.weights.integer_weights import sqnr_db
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, samples_for
from tests.converters.quantize.quantized_runs import run

RELU = 1


class RepeatedLayerNet(FloatNet):
    """Builds a layer of 6 channels, whose weights are used several times, on an input of the kind ``kind``."""

    def __init__(self, kind: str) -> None:
        super().__init__(3)
        self.kind = kind
        self.shape = (1, 6) if kind == "FULLY_CONNECTED" else (1, 4, 4, 6)
        self.x = self.input((1, 10) if kind == "FULLY_CONNECTED" else (1, 4, 4, 6), "float32")
        shapes = {"FULLY_CONNECTED": (6, 10), "CONV_2D": (6, 3, 3, 6), "DEPTHWISE_CONV_2D": (1, 3, 3, 6)}
        self.kernel = self.rng.normal(size=shapes[kind])
        self.offsets = self.rng.normal(size=6)

    def add_copy(self, sign: int, activation: int, *, bias: float = 0.0) -> int:
        """Add a copy of the layer, with new constants that are multiplied by ``sign``."""
        options = {
            "FULLY_CONNECTED": {"options": "FullyConnectedOptions"},
            "CONV_2D": {"options": "Conv2DOptions", "stride_h": 1, "stride_w": 1, "padding": 0},
            "DEPTHWISE_CONV_2D": {
                "options": "DepthwiseConv2DOptions", "stride_h": 1, "stride_w": 1, "padding": 0, "depth_multiplier": 1,
            },
        }[self.kind]  # fmt: skip
        inputs = [self.x, self.real(sign * self.kernel), self.real(sign * self.offsets + bias)]
        return self.layer(self.kind, inputs, self.shape, **options, fused_activation_function=activation)  # type: ignore[arg-type]

    def binary(self, name: str, a: int, b: int) -> int:
        """Add an element-by-element operator with two inputs."""
        return self.layer(name, [a, b], self.shape, f"{name.title()}Options")


def prelu(kind: str, slopes: np.ndarray) -> Model:
    """Return relu(layer) - slopes * relu(-layer), as litert-torch writes PReLU."""
    n = RepeatedLayerNet(kind)
    negative = n.binary("MUL", n.add_copy(-1, RELU), n.real(slopes))
    return n.model([n.binary("SUB", n.add_copy(1, RELU), negative)])


def celu() -> Model:
    """Return relu(layer) + exp(min(layer, 0)) - 1, as TensorFlow writes Keras's celu."""
    n = RepeatedLayerNet("FULLY_CONNECTED")
    low = n.layer("MINIMUM", [n.add_copy(1, 0), n.real(0.0)], n.shape, "MaximumMinimumOptions")
    low = n.binary("SUB", n.layer("EXP", [low], n.shape), n.real(1.0))
    return n.model([n.binary("ADD", n.add_copy(1, RELU), low)])


#: A slope of the activation for each channel.
CHANNELS = np.linspace(0.1, 0.7, 6)
#: By name: a model, and the operators after ``simplify``.
NETWORKS = {
    "dense-channels": (prelu("FULLY_CONNECTED", CHANNELS), ["FULLY_CONNECTED", "PRELU"]),
    "conv-channels": (prelu("CONV_2D", CHANNELS.reshape(1, 1, 1, 6)), ["CONV_2D", "PRELU"]),
    "depthwise-channels": (prelu("DEPTHWISE_CONV_2D", CHANNELS), ["DEPTHWISE_CONV_2D", "PRELU"]),
    "dense-slope": (prelu("FULLY_CONNECTED", np.array(0.25)), ["FULLY_CONNECTED", "LEAKY_RELU"]),
    "celu": (celu(), ["FULLY_CONNECTED", "ELU"]),
}


@pytest.mark.parametrize(("model", "names"), NETWORKS.values(), ids=NETWORKS)
def test_one_layer_and_one_activation_remain(model: Model, names: list[str]) -> None:
    flatbuffer = to_flatbuffer(model)
    simplified, notes = simplify(flatbuffer)
    assert [op.name for op in parse(simplified).main.ops] == names
    assert any(f"{names[0]} also computes what {names[0]}" in note for note in notes)
    data = samples_for(model).inputs
    for (before,), (after,) in zip(run_outputs(flatbuffer, data), run_outputs(simplified, data), strict=True):
        assert np.allclose(before, after, rtol=1e-5, atol=1e-5)
    image = quantize(simplified, load_recipe("int8"), observe(simplified, samples_for(model))).flatbuffer
    real, quantized = run(flatbuffer, data), run(image, data)
    assert sqnr_db(real, quantized) > 30


def test_both_layers_of_a_concatenated_relu_are_kept() -> None:
    n = RepeatedLayerNet("FULLY_CONNECTED")
    halves = [n.add_copy(1, RELU), n.add_copy(-1, RELU)]
    y = n.layer("CONCATENATION", halves, (1, 12), "ConcatenationOptions", axis=1)
    flatbuffer = n.bytes(y)
    assert simplify(flatbuffer) == (flatbuffer, ())


def test_layers_with_different_biases_are_kept() -> None:
    n = RepeatedLayerNet("FULLY_CONNECTED")
    other = n.binary("MUL", n.add_copy(-1, RELU, bias=0.5), n.real(0.25))
    names = [
        op.name for op in parse(simplify(n.bytes(n.binary("SUB", n.add_copy(1, RELU), other)))[0]).main.ops
    ]
    assert names.count("FULLY_CONNECTED") == 2
