"""FULLY_CONNECTED with int16 activations computes LiteRT's bytes on cores with the DSP extension."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.tflite.image import to_flatbuffer
from arenite.firmware.generator.lower.dense.fully_connected_s16_dsp import BLOCK, GROUP
from arenite.firmware.generator.target import DSP, Target
from arenite.host.bench.reference import Reference
from tests.firmware.engine.conv.convolution_graphs import scales
from tests.firmware.engine.dense.dense_graphs import fully_connected
from tests.firmware.engine.litert_exact import run_natively
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated
from tests.fuzz.graph_builder import f32

SPEED = Target("", DSP, "speed")
IN_SCALE = f32(1e-4)


def layer(depth: int, units: int, **options: object) -> Model:
    """Return a model of one FULLY_CONNECTED layer with int16 activations."""
    settings: dict = {"dtype": "int16", "in_scale": IN_SCALE, **options}
    return fully_connected(depth, units, **settings)


def kernel(model: Model) -> str:
    """Return the name of the kernel that runs the model's only layer."""
    (call,) = (layer.call for layer in lower(model, target=SPEED).calls if layer.call)
    return call.kernel


NARROW = [
    layer(1, 1),
    layer(8, 4),
    layer(33, 5, weight_scales=scales(5), activation=1),
    layer(64, 10, bias=False),
    layer(7, 9, batches=3, weight_scales=scales(9)),
    layer(16, 6, batches=4, activation=3),
    layer(50, 6, bias_dtype="int32", quantized_bias_type=2),
    # Every second sum is halfway between two outputs, which tests the rounding of ties.
    layer(
        3, 3, in_scale=0.5, weight_scales=(1.0,), out_quant=Quantization((200.0,), (0,)), weights=np.eye(3)
    ),
    layer(9, 4, out_quant=Quantization((1e9,), (0,))),  # every output is 0
    layer(9, 4, out_quant=Quantization((2e-4,), (0,))),  # a multiplier near 1
]
#: Layers of extreme weights. The sums of the first layer fit into 32 bits, the sums of the others do not.
WIDE = [
    layer(BLOCK * GROUP, 5, weights=np.full((5, BLOCK * GROUP), 127), out_quant=Quantization((900.0,), (0,))),
    layer(513, 5, weights=np.full((5, 513), -128), bias=False),
    layer(1200, 6, batches=2, weight_scales=scales(6), weights=np.full((6, 1200), -128)),
    layer(2016, 3, weights=np.full((3, 2016), 127), bias=False, out_quant=Quantization((60.0,), (0,))),
]


def test_layers_are_exact() -> None:
    assert {kernel(m) for m in NARROW} == {"ar_fully_connected_s16_dsp"}
    assert not compare(NARROW, runs=8, targets=[SPEED])


def test_sums_beyond_32_bits_are_exact() -> None:
    assert [kernel(m) for m in WIDE] == ["ar_fully_connected_s16_dsp"] + [
        "ar_fully_connected_s16_wide_dsp"
    ] * 3
    assert not compare(WIDE, runs=8, targets=[SPEED])


@pytest.mark.parametrize("scale", [0.49, 0.031, 0.25, 2.0**-20, 0.0078125, 1 / 3000])
def test_every_input_is_scaled_as_in_double_precision(scale: float) -> None:
    """Many products are close to a value halfway between two outputs, where 32 bits of the scale are not enough."""
    out = Quantization((f32(IN_SCALE / scale) * 200,), (0,))
    weights = np.array([[1], [-127], [3]])
    model = layer(1, 3, batches=65536, weight_scales=(1.0,), weights=weights, out_quant=out, bias=False)
    x = np.arange(-32768, 32768).astype(np.int16).reshape(-1, 1)
    (actual,) = run_natively([(model, [x])], [SPEED])
    np.testing.assert_array_equal(actual[0], Reference(to_flatbuffer(model)).run([x])[0])


@pytest.mark.slow
@pytest.mark.parametrize("board", ["qemu_mps2_an386", "qemu_mps3_an547"])
def test_the_assembly_is_exact(board: str) -> None:
    mismatches, kernels = compare_emulated([*NARROW, *WIDE], board)
    assert not mismatches
    assert set(kernels) == {"ar_fully_connected_s16_dsp", "ar_fully_connected_s16_wide_dsp"}
