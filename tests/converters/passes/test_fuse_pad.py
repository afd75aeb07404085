"""A PAD is fused into the layer that reads it only if the layer's SAME padding would add the same rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.graph.quantized_arithmetic import SAME, VALID
from arenite.converters.passes.fuse_pad import fuse_pad
from arenite.firmware.generator.operator_needs import check_supported
from tests.converters.passes.constant_channel_models import assert_same
from tests.converters.passes.layer_models import conv, quant
from tests.fuzz.graph_builder import GraphBuilder

RNG = np.random.default_rng(9)


def model_with_pad(
    size: tuple[int, int],
    pads: tuple[tuple[int, int], tuple[int, int]],
    kernel: int = 3,
    stride: int = 1,
    name: str = "CONV_2D",
) -> tuple[GraphBuilder, int, int]:
    """Add a PAD and a convolution without padding. Return the builder, and the tensors before and after the PAD."""
    b = GraphBuilder()
    x = b.input((1, *size, 2), "int8", quant(-3))
    shape = (1, size[0] + sum(pads[0]), size[1] + sum(pads[1]), 2)
    y = b.tensor(shape, "int8", b[x].quant)
    b.op("PAD", [x, b.const([(0, 0), *pads, (0, 0)], "int32")], [y], "PadOptions")
    w = RNG.integers(-9, 9, (1, kernel, kernel, 2) if name != "CONV_2D" else (3, kernel, kernel, 2))
    conv(
        b, y, w, [5] * (2 if name != "CONV_2D" else 3), padding=VALID, stride=stride, activation=0, name=name
    )
    return b, x, y


def names(model: Model) -> list[str]:
    """Return the names of the operators."""
    return [op.name for op in model.main.ops]


@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize(
    ("size", "pads", "kernel", "stride"),
    [
        ((6, 5), ((1, 1), (1, 1)), 3, 1),
        ((6, 8), ((0, 1), (0, 1)), 3, 2),  # as Keras pads an even image
        ((7, 5), ((1, 1), (1, 1)), 3, 2),
        ((8, 4), ((1, 2), (1, 2)), 4, 1),
        ((6, 8), ((0, 2), (0, 1)), 3, 2),  # no window reads the last row
    ],
)
def test_a_pad_equal_to_same_padding_is_fused(
    name: str, size: tuple[int, int], pads: tuple[tuple[int, int], tuple[int, int]], kernel: int, stride: int
) -> None:
    model = model_with_pad(size, pads, kernel, stride, name)[0].build()
    fused, report = fuse_pad(model)
    assert names(fused) == [name] and fused.main.ops[0].options["padding"] == SAME
    assert report is not None and report.notes == (
        f"Fused: layer 0 PAD is now the padding of layer 1 {name}.",
    )
    check_supported(fused)
    assert_same(model, fused)


@pytest.mark.parametrize(
    ("size", "pads", "kernel", "stride"),
    [
        ((6, 8), ((1, 1), (1, 1)), 3, 2),  # as PyTorch pads an even image; SAME pads only at the end
        ((6, 6), ((2, 2), (2, 2)), 3, 1),  # more padding than SAME
        ((6, 6), ((1, 0), (1, 1)), 3, 1),  # less padding than SAME
    ],
)
def test_a_pad_unlike_same_padding_stays(
    size: tuple[int, int], pads: tuple[tuple[int, int], tuple[int, int]], kernel: int, stride: int
) -> None:
    model = model_with_pad(size, pads, kernel, stride)[0].build()
    assert fuse_pad(model) == (model, None)


def test_a_pad_with_another_reader_stays() -> None:
    b, _, y = model_with_pad((6, 6), ((1, 1), (1, 1)))
    conv(b, y, [[[[1, 1]]]], [0])
    model = b.build()
    assert fuse_pad(model) == (model, None)


def test_a_pad_of_channels_stays() -> None:
    b = GraphBuilder()
    x = b.input((1, 3, 3, 2), "int8", quant(0))
    y = b.tensor((1, 5, 5, 3), "int8", b[x].quant)
    b.op("PAD", [x, b.const([(0, 0), (1, 1), (1, 1), (0, 1)], "int32")], [y], "PadOptions")
    conv(b, y, RNG.integers(-9, 9, (2, 3, 3, 3)), [0, 0], padding=VALID)
    model = b.build()
    assert fuse_pad(model) == (model, None)
