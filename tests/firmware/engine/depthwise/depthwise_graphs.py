"""Depthwise layers with all kinds of windows and edges, for tests of kernels."""

from __future__ import annotations

from typing import Any

from arenite.converters.graph.model import Model, Quantization
from tests.firmware.engine.conv.convolution_graphs import RELU, RELU6, SAME, VALID, conv

_RELU_OUT = Quantization((0.3,), (-128,))


def depthwise(
    height: int,
    width: int,
    channels: int,
    window: tuple[int, int] = (3, 3),
    batch: int = 1,
    **options: object,
) -> Model:
    """Return a layer of depth multiplier 1 with ReLU and zero point -128 by default, as in most networks."""
    options.setdefault("out_quant", _RELU_OUT)
    options.setdefault("activation", RELU)
    return conv("DEPTHWISE_CONV_2D", (batch, height, width, channels), (1, *window, channels), **options)  # type: ignore[arg-type]


def windows_3x3() -> list[Model]:
    """Return layers with widths around multiples of 6 and 3 outputs, which are computed as blocks, with 4 to 9 channels
    and all kinds of edges."""
    return [
        *(depthwise(3, width, 4, padding=SAME) for width in (*range(1, 15), 24, 25)),
        *(depthwise(5, width, 4, padding=SAME, stride=2) for width in (*range(1, 15), 24, 25)),
        *(depthwise(4, width, 5, padding=VALID) for width in (3, 4, 8, 9, 10, 20)),
        *(depthwise(7, width, 7, padding=VALID, stride=2) for width in (3, 4, 8, 9, 10, 20)),
        *(depthwise(6, 6, channels, padding=SAME) for channels in range(4, 10)),
        *(depthwise(6, 6, channels, padding=SAME, stride=2) for channels in range(4, 10)),
        depthwise(1, 7, 8, padding=SAME),
        depthwise(2, 2, 8, padding=SAME, stride=2),
        depthwise(5, 7, 6, batch=3, padding=SAME),
        depthwise(6, 5, 6, batch=2, padding=SAME, stride=2),
        depthwise(6, 7, 4, in_quant=Quantization((0.05,), (-128,)), padding=SAME),
    ]


def narrow_3x3() -> list[Model]:
    """Return layers with fewer blocks along columns than along rows."""
    return [
        *(depthwise(height, 3, 4, padding=SAME) for height in (11, 12, 13, 18, 23, 24, 25)),
        *(depthwise(height, 2, 5, padding=SAME, stride=2) for height in (12, 17, 18, 19, 23, 24)),
        *(depthwise(height, 5, 6, padding=VALID) for height in (20, 25, 26)),
        depthwise(25, 5, 8, padding=SAME),
        depthwise(13, 2, 7, batch=2, padding=SAME),
    ]


def other_windows() -> list[Model]:
    """Return layers with other windows than 3x3, and 3x3 layers that the 3x3 kernel does not support."""
    return [
        *(depthwise(6, 9, channels, (2, 5), padding=SAME) for channels in (4, 5, 6, 7, 8, 9)),
        depthwise(9, 9, 8, (5, 5), padding=SAME, stride=2),
        depthwise(9, 9, 4, (3, 3), padding=SAME, dilation=2),
        depthwise(5, 6, 8, (3, 3), padding=SAME, stride=3),
        depthwise(5, 6, 8, (3, 3), padding=SAME, activation=RELU6, out_quant=Quantization((0.02,), (-20,))),
        depthwise(5, 6, 8, (3, 3), padding=SAME, activation=0, out_quant=Quantization((0.3,), (3,))),
        depthwise(5, 6, 4, (3, 2), batch=2, padding=SAME),
    ]


def one_row() -> list[Model]:
    """Return layers whose images have a single row or column, with incomplete blocks of one to five outputs."""
    linear: dict[str, Any] = {"activation": 0, "out_quant": Quantization((0.3,), (3,))}
    return [
        *(depthwise(9, 1, 8, (k, 1), padding=VALID) for k in (1, 2, 3, 4, 5, 9)),
        *(depthwise(36 + k, 1, 4, (k, 1), padding=VALID, **linear) for k in (3, 4, 5, 6, 9, 10)),
        *(depthwise(1, 30 + rest, 8, (1, 5), padding=SAME) for rest in range(6)),
        *(depthwise(31, 1, channels, (4, 1), padding=SAME) for channels in (5, 6, 7)),
        depthwise(26, 1, 5, (6, 1), batch=2, padding=SAME, in_quant=Quantization((0.05,), (-128,)), **linear),
        depthwise(1, 7, 8, (1, 30), padding=SAME, **linear),  # most taps are outside the image
    ]


def one_channel() -> list[Model]:
    """Return layers with a single input channel."""
    return [
        conv("DEPTHWISE_CONV_2D", (1, 9, 10, 1), (1, 3, 3, 8), stride=2, padding=SAME),
        conv("DEPTHWISE_CONV_2D", (2, 8, 7, 1), (1, 5, 4, 3), padding=VALID, activation=RELU6),
        conv("DEPTHWISE_CONV_2D", (1, 9, 10, 1), (1, 3, 3, 4), padding=SAME, dilation=2),
    ]


def overwriting() -> list[Model]:
    """Return layers whose output pixels may overwrite input pixels."""
    return [
        *(depthwise(9, 1, channels, (4, 1), padding=VALID) for channels in (4, 7, 128)),
        depthwise(9, 10, 9, (5, 3), padding=VALID, stride=2),
        depthwise(8, 8, 8, (2, 2), padding=VALID),
        depthwise(7, 7, 6, (3, 3), padding=VALID, dilation=2),
        depthwise(4, 4, 8, (2, 2), padding=SAME, activation=RELU6, out_quant=Quantization((0.02,), (-20,))),
    ]
