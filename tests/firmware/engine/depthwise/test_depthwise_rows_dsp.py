"""Depthwise 3x3 for DSP row by row, between 1x1 convolutions whose tensors are too large for the arena."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.target import DSP, Target
from tests.firmware.engine.conv.convolution_graphs import RELU, SAME, VALID, scales
from tests.fuzz.cases.conv_2d import bias_for
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated
from tests.fuzz.graph_builder import GraphBuilder

pytestmark = pytest.mark.slow

RAM = Target("cortex-m4f", DSP, "ram")
_ROW = "ar_depthwise_3x3_s1_s8_dsp_row"
_RELU_OUT = Quantization((0.3,), (-128,))


def layer(
    b: GraphBuilder, x: int, channels: int, window: int, padding: int, stride: int, quant: Quantization
) -> int:
    """Add a 1x1 convolution, or with ``window`` 3 a depthwise one, and return its output tensor."""
    _, h, w, c = b[x].shape
    axis = 3 if window == 3 else 0
    shape = (1, 3, 3, channels) if window == 3 else (channels, 1, 1, c)
    wq = Quantization(scales(channels), (0,) * channels, axis)
    inputs = [x, b.const(b.rng.integers(-128, 128, shape), "int8", wq), bias_for(b, x, wq, channels)]
    lost = window - 1 if padding == VALID else 0
    y = b.tensor((1, -(-(h - lost) // stride), -(-(w - lost) // stride), channels), "int8", quant)
    name, options = (
        ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions") if window == 3 else ("CONV_2D", "Conv2DOptions")
    )
    extra: dict[str, Any] = {"depth_multiplier": 1} if window == 3 else {}
    b.op(
        name,
        inputs,
        [y],
        options,
        version=3,
        padding=padding,
        stride_h=stride,
        stride_w=stride,
        fused_activation_function=RELU,
        **extra,
    )
    return y


def depthwise_between_pointwise(
    height: int, width: int, channels: int, padding: int = SAME, zero_point: int = -128, stride: int = 1
) -> Model:
    """Return a depthwise 3x3 convolution between two 1x1 convolutions. ``zero_point`` is that of its input."""
    b = GraphBuilder(np.random.default_rng(width * 100 + channels))
    x = b.input((1, height, width, 2), "int8", Quantization((0.05,), (3,)))
    x = layer(b, x, channels, 1, SAME, 1, Quantization((0.3,), (zero_point,)))
    x = layer(b, x, channels, 3, padding, stride, _RELU_OUT)
    layer(b, x, 2, 1, SAME, 1, _RELU_OUT)
    return b.build()


def models() -> list[Model]:
    """Return models with widths around blocks of 6 outputs, 8 to 17 channels, with and without padding."""
    return [
        *(depthwise_between_pointwise(9, width, 8) for width in (*range(2, 15), 19, 24)),
        *(depthwise_between_pointwise(9, width, 8, VALID) for width in (*range(4, 15), 20)),
        *(depthwise_between_pointwise(9, 7, channels) for channels in (9, 10, 11, 12, 17)),
        *(depthwise_between_pointwise(9, 8, channels, VALID) for channels in (9, 10, 11)),
        depthwise_between_pointwise(9, 5, 8, zero_point=-7),
        depthwise_between_pointwise(9, 13, 10, zero_point=90),
        *(
            depthwise_between_pointwise(12, width, channels, stride=2)
            for width in (5, 6, 7, 12, 13)
            for channels in (8, 9, 11)
        ),
    ]


def test_depthwise_layers_run_with_the_row_kernels() -> None:
    kernels = [
        layer.call.kernel for m in models() for layer in lower(m, target=RAM).calls if layer.call is not None
    ]
    assert kernels.count(_ROW) > 30
    assert kernels.count("ar_depthwise_3x3_s8_dsp_row") > 10


def test_the_portable_bodies_are_exact() -> None:
    assert compare(models(), seed=5, runs=4, targets=[RAM]) == []


@pytest.mark.qemu
def test_the_assembly_is_exact_on_a_cortex_m4() -> None:
    assert compare_emulated(models(), "qemu_mps2_an386", seed=6, optimise="ram")[0] == []
