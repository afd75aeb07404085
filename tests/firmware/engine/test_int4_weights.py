"""Layers with int4 weights, or with int8 weights packed for small flash, give LiteRT's bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.passes.constant_channels import constant_channels
from arenite.converters.tflite.int4 import int8_weights
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.lower.core import packed_weights
from arenite.firmware.generator.operator_needs import check_supported
from arenite.firmware.generator.target import DSP, MVE, SCALAR, Target
from arenite.host.bench.reference import Reference
from tests.converters.passes.layer_models import conv, quant
from tests.firmware.engine.conv.convolution_graphs import assert_refused
from tests.fuzz.cases.conv_2d import constant_weights, int4_scales
from tests.fuzz.comparison import compare, lower, random_input
from tests.fuzz.graph_builder import GraphBuilder, f32

GOALS = ("speed", "balanced", "ram", "flash")
TARGETS = [Target("", tier, goal) for tier in (SCALAR, DSP, MVE) for goal in GOALS]
_OPTIONS = {
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
}


def layer(
    op: str,
    shape: Sequence[int],
    weights: np.ndarray,
    *,
    int4: bool = True,
    per_channel: bool = True,
    dtype: str = "int8",
    zero_point: int | None = None,
    relu: bool = False,
    **options: Any,
) -> Model:
    """Return a model of one layer. With ``int4``, its weights are the upper four bits of ``weights``. ``options`` are
    stride, padding and dilation."""
    b = GraphBuilder(np.random.default_rng(weights.size))
    axis = 3 if op == "DEPTHWISE_CONV_2D" else 0
    count, depth = weights.shape[axis], weights.size // weights.shape[axis]
    scales = np.exp(b.rng.uniform(np.log(1e-3), np.log(4e-3), count if per_channel else 1))
    quant = Quantization(tuple(map(f32, scales)), (0,) * len(scales), axis)
    if int4:
        quant = int4_scales(quant)
    x = b.input(shape, dtype, b.quant(dtype, scale=0.05, zero_point=zero_point))
    w = constant_weights(b, weights, quant, int4)
    bias_scale = Quantization(tuple(f32(b[x].scale * s) for s in quant.scale), (0,) * len(scales), 0)
    is_int16 = dtype == "int16"
    bias = b.const(b.rng.integers(-3000, 3000, count), "int64" if is_int16 else "int32", bias_scale)
    # 300 and 5000 are about the standard deviations of a random int8 input times an int4 or an int8 weight.
    spread = 0.05 * float(np.median(quant.scale)) * np.sqrt(depth) * (300 if int4 else 5000)
    out = Quantization((f32(spread / (128 if is_int16 else 1)),), (0 if is_int16 else -128 if relu else 3,))
    if op == "FULLY_CONNECTED":
        sizes: tuple[int, ...] = (shape[0], count)
    else:
        stride, valid = options.get("stride_h", 1), options.get("padding", 0)
        lost = weights.shape[1] - 1 if valid else 0
        sizes = (shape[0], *(-(-(d - lost) // stride) for d in shape[1:3]), count)
    y = b.tensor(sizes, dtype, out)
    if op != "FULLY_CONNECTED":
        options = {"stride_h": 1, "stride_w": 1} | options
    b.op(op, [x, w, bias], [y], _OPTIONS[op], version=3, fused_activation_function=int(relu), **options)
    return b.build()


def values(*shape: int) -> np.ndarray:
    """Return weights whose upper four bits have all 16 values, including -8."""
    return np.random.default_rng(sum(shape)).integers(-128, 128, shape)


def models() -> list[Model]:
    """Return layers with int4 weights."""
    stride_2: dict[str, Any] = {"stride_h": 2, "stride_w": 2}
    return [
        layer("CONV_2D", (1, 5, 7, 12), values(20, 1, 1, 12), relu=True, zero_point=-128),
        layer("CONV_2D", (1, 6, 6, 16), values(16, 1, 1, 16), per_channel=False),
        layer("CONV_2D", (2, 7, 5, 3), values(7, 3, 3, 3), **stride_2),
        layer("CONV_2D", (1, 9, 9, 8), values(8, 3, 3, 8), padding=1),
        layer("CONV_2D", (1, 8, 8, 6), values(9, 3, 3, 2)),  # three groups
        layer("CONV_2D", (1, 5, 5, 5), values(9, 5, 5, 5), padding=1),  # one output pixel
        layer("DEPTHWISE_CONV_2D", (1, 9, 6, 16), values(1, 3, 3, 16), relu=True),
        layer("DEPTHWISE_CONV_2D", (1, 9, 6, 10), values(1, 3, 3, 10), **stride_2),
        layer("DEPTHWISE_CONV_2D", (1, 6, 6, 3), values(1, 3, 2, 6), depth_multiplier=2),
        layer("DEPTHWISE_CONV_2D", (1, 8, 4, 1), values(1, 5, 3, 8), depth_multiplier=8),
        layer("DEPTHWISE_CONV_2D", (1, 7, 7, 8), values(1, 5, 5, 8), per_channel=False),
        layer("FULLY_CONNECTED", (1, 40), values(17, 40)),
        layer("FULLY_CONNECTED", (3, 33), values(12, 33), per_channel=False),
        layer("FULLY_CONNECTED", (7, 5), values(2, 5)),  # fewer weights than the 16 values of a table
        layer("CONV_2D", (1, 5, 5, 4), values(6, 3, 3, 4), dtype="int16"),
        layer("FULLY_CONNECTED", (2, 24), values(8, 24), dtype="int16"),
    ]


@pytest.mark.slow
def test_int4_layers_are_exact_for_every_tier_and_goal() -> None:
    for mismatch in compare(models(), targets=TARGETS):
        raise AssertionError(str(mismatch))


def weight_bytes(generated: Generated) -> int:
    """Return the number of bytes of flash that the weights take."""
    return sum(c.weight_bytes for c in generated.constants)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: f"{t.tier}-{t.optimise}")
def test_int4_weights_take_half_the_flash(target: Target) -> None:
    for op, shape, weights in (
        ("CONV_2D", (1, 12, 12, 32), values(32, 1, 1, 32)),
        ("FULLY_CONNECTED", (1, 128), values(64, 128)),
    ):
        small = lower(layer(op, shape, weights), target=target)
        bias_bytes = 4 * weights.shape[0]
        table_bytes = 16
        assert weight_bytes(small) <= weights.size // 2 + 2 * bias_bytes + table_bytes


@pytest.mark.parametrize("goal", GOALS)
def test_each_goal_has_its_dsp_kernel(goal: str) -> None:
    without_lowest = np.maximum(values(20, 1, 1, 12), -112)  # pairs with a weight of -8 have no int4 form
    model = layer("CONV_2D", (1, 5, 7, 12), without_lowest, relu=True, zero_point=-128)
    kernel_call = lower(model, target=Target("cortex-m4f", DSP, goal)).calls[0].call
    assert kernel_call is not None
    kernels = [call.kernel for call in kernel_call.all]
    assert (
        kernels
        == {
            "speed": ["ar_unpack4", "ar_conv_2d_s8_dsp"],
            "balanced": ["ar_conv_2d_w4_dsp"],
            "ram": ["ar_conv_2d_w4_dsp_row"],
            "flash": ["ar_conv_2d_s8_packed"],
        }[goal]
    )


def test_unsupported_int4_layers_are_refused() -> None:
    int16_model = int8_weights(layer("DEPTHWISE_CONV_2D", (1, 6, 6, 4), values(1, 3, 3, 4), dtype="int16"))
    assert_refused(int16_model, "misreads int4 weights")
    b = GraphBuilder()
    x = b.input((1, 4), "int8", b.quant("int8"))
    w = constant_weights(b, values(2, 4), Quantization((f32(0.1),), (3,)), int4=True)
    y = b.tensor((1, 2), "int8", b.quant("int8"))
    b.op("FULLY_CONNECTED", [x, w], [y], "FullyConnectedOptions", version=4)
    assert_refused(int8_weights(b.build()), "must have zero point 0")


def clustered(rng: np.random.Generator, *shape: int, kinds: int = 16) -> np.ndarray:
    """Return int8 weights with only ``kinds`` different values."""
    return rng.choice(rng.choice(255, kinds, replace=False) - 127, shape)


def pruned(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return int8 weights, about 80 % of which are zero."""
    return np.where(rng.random(shape) < 0.8, 0, rng.integers(-127, 128, shape))


def packable() -> list[Model]:
    """Return layers whose int8 weights can be packed in fewer bits."""
    rng = np.random.default_rng(11)
    return [
        layer("CONV_2D", (1, 6, 6, 24), clustered(rng, 20, 3, 3, 24), int4=False),
        layer("CONV_2D", (1, 6, 6, 24), clustered(rng, 20, 3, 3, 24, kinds=3), int4=False),
        layer("CONV_2D", (2, 6, 6, 24), pruned(rng, 20, 3, 3, 24), int4=False, relu=True),
        layer("DEPTHWISE_CONV_2D", (1, 6, 6, 99), pruned(rng, 1, 5, 5, 99), int4=False),
        layer("FULLY_CONNECTED", (2, 90), pruned(rng, 50, 90), int4=False),
        layer("FULLY_CONNECTED", (1, 90), clustered(rng, 50, 90, kinds=2), int4=False),
    ]


@pytest.mark.parametrize("tier", [SCALAR, DSP, MVE])
def test_clustered_and_pruned_weights_are_packed_for_small_flash(tier: str) -> None:
    flash, speed = Target("", tier, "flash"), Target("", tier, "speed")
    for model in packable():
        generated, fast = lower(model, target=flash), lower(model, target=speed)
        assert generated.calls[0].call is not None and generated.calls[0].call.kernel.endswith("_packed")
        assert weight_bytes(generated) < 0.7 * weight_bytes(fast)
        assert fast.calls[0].call is not None and "packed" not in fast.calls[0].call.kernel
    for mismatch in compare(packable(), targets=[flash]):
        raise AssertionError(str(mismatch))


def test_weights_are_packed_only_if_that_saves_more_than_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    small = layer("CONV_2D", (1, 6, 6, 8), clustered(rng, 8, 3, 3, 8), int4=False)
    flash = Target("", SCALAR, "flash")
    call = lower(small, target=flash).calls[0].call
    assert call is not None and call.kernel == "ar_conv_2d_s8"
    # If the code of the kernels had no size, packing would save flash.
    monkeypatch.setattr(packed_weights, "_CODE", dict.fromkeys(packed_weights._CODE, 0))
    monkeypatch.setattr(packed_weights, "_READER", 0)
    same_size = layer("CONV_2D", (1, 6, 6, 8), clustered(rng, 8, 3, 3, 8), int4=False)
    call = lower(same_size, target=flash).calls[0].call
    assert call is not None and call.kernel == "ar_conv_2d_s8_packed"


def test_ordinary_weights_are_not_packed() -> None:
    model = layer("CONV_2D", (1, 6, 6, 40), values(40, 3, 3, 40), int4=False)
    check_supported(model)
    for target in TARGETS:
        call = lower(model, target=target).calls[0].call
        assert call is not None and "packed" not in call.kernel and call.before is None


def test_int4_layers_without_their_dead_channels_stay_int4() -> None:
    b = GraphBuilder(np.random.default_rng(8))
    x = b.input((1, 6, 6, 4), "int8", quant(0))
    y = conv(b, x, b.rng.integers(-8, 8, (10, 1, 1, 4)), [*[0] * 8, -(1 << 20), -(1 << 20)])
    conv(b, y, b.rng.integers(-8, 8, (6, 3, 3, 10)), np.zeros(6), activation=0, zero=0)
    b.tensors = [replace(t, stored="int4") if len(t.shape) == 4 and t.is_constant else t for t in b.tensors]
    model = b.build()
    small, report = constant_channels(model, multiple=1)
    assert report is not None
    first, second = (small.main.tensors[op.inputs[1]] for op in small.main.ops)
    assert (first.shape, second.shape) == ((8, 1, 1, 4), (6, 3, 3, 8))
    int4_weights = [t for t in parse(to_flatbuffer(small)).main.tensors if t.dtype == "int4"]
    assert [t.shape for t in int4_weights] == [first.shape, second.shape]
    expected, actual = Reference(to_flatbuffer(model)), Reference(to_flatbuffer(small))
    for seed in range(4):
        inputs = [random_input(model.main.tensors[0], np.random.default_rng(seed))]
        assert np.array_equal(expected.run(inputs)[0], actual.run(inputs)[0])
    for mismatch in compare([small], targets=[Target("", tier, "speed") for tier in (SCALAR, DSP, MVE)]):
        raise AssertionError(str(mismatch))
