"""Separate activation operators become the fused activation of the layer before, if that is exact."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.graph.quantized_arithmetic import NONE, RELU, RELU6, RELU_N1_TO_1
from arenite.converters.passes.fuse_activation import fuse_activation
from arenite.firmware.generator.operator_needs import check_supported
from tests.converters.passes.constant_channel_models import assert_same
from tests.converters.passes.layer_models import add, conv, quant
from tests.fuzz.graph_builder import GraphBuilder

RNG = np.random.default_rng(9)


def activated(first: int, names: list[str], zero: int = -20, scale_out: float = 1 / 16) -> Model:
    """Return a convolution with the fused activation ``first``, followed by the activations ``names``. ``zero`` is the
    zero point of all outputs, and ``scale_out`` the scale of the activations."""
    b = GraphBuilder()
    x = b.input((1, 4, 4, 2), "int8", quant(0))
    y = conv(b, x, RNG.integers(-3, 4, (3, 1, 1, 2)), [5, -9, 0], zero=zero, activation=first)
    for name in names:
        z = b.tensor(b[y].shape, "int8", quant(zero, scale_out))
        b.op(name, [y], [z], version=1 if "_" in name else 2)
        y = z
    return b.build()


@pytest.mark.parametrize(
    ("first", "names", "fused"),
    [
        (NONE, ["RELU"], RELU),
        (NONE, ["RELU6"], RELU6),
        (NONE, ["RELU_N1_TO_1"], RELU_N1_TO_1),
        (RELU, ["RELU6"], RELU6),
        (RELU6, ["RELU"], RELU6),
        (NONE, ["RELU", "RELU6"], RELU6),
        (RELU, ["RELU"], RELU),
    ],
)
def test_separate_activations_become_the_fused_activation(first: int, names: list[str], fused: int) -> None:
    model = activated(first, names)
    small, report = fuse_activation(model)
    assert [op.name for op in small.main.ops] == ["CONV_2D"]
    assert small.main.ops[0].options["fused_activation_function"] == fused
    assert report is not None and len(report.notes) == len(names)
    check_supported(small)
    assert_same(model, small)


@pytest.mark.parametrize("zero", [-128, 127])
def test_a_clamp_at_the_end_of_the_range_is_fused(zero: int) -> None:
    """If the zero point is -128, RELU changes no value. If it is 127, RELU makes all values equal to it."""
    model = activated(NONE, ["RELU"], zero)
    small, _ = fuse_activation(model)
    assert len(small.main.ops) == 1
    assert_same(model, small)


def test_activations_that_no_fused_activation_equals_are_kept() -> None:
    """RELU_N1_TO_1 and then RELU clamps to [0, 1]: TFLite has no such fused activation."""
    for first, names in ((RELU_N1_TO_1, ["RELU"]), (NONE, ["RELU_0_TO_1"])):
        model = activated(first, names)
        assert fuse_activation(model) == (model, None)


def test_an_activation_with_another_scale_is_kept() -> None:
    model = activated(NONE, ["RELU"], scale_out=1 / 20)
    assert fuse_activation(model) == (model, None)


def test_a_layer_with_another_reader_keeps_its_range() -> None:
    b = GraphBuilder()
    x = b.input((1, 4, 4, 2), "int8", quant(0))
    y = conv(b, x, RNG.integers(-3, 4, (2, 1, 1, 2)), [5, -9], zero=-20, activation=NONE)
    z = b.tensor(b[y].shape, "int8", quant(-20))
    b.op("RELU", [y], [z], version=2)
    add(b, y, z)
    model = b.build()
    assert fuse_activation(model) == (model, None)


def test_an_activation_is_fused_into_an_add() -> None:
    b = GraphBuilder()
    x = b.input((1, 4, 4, 2), "int8", quant(0))
    y = add(b, x, x)
    z = b.tensor(b[y].shape, "int8", b[y].quant)
    b.op("RELU", [y], [z], version=2)
    model = b.build()
    small, _ = fuse_activation(model)
    assert [op.name for op in small.main.ops] == ["ADD"]
    assert_same(model, small)
