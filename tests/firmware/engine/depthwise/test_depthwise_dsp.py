"""The depthwise kernels for DSP give LiteRT's bytes, on this computer and as assembly on a Cortex-M4."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.lower.depthwise.depthwise_3x3_dsp import Depthwise3x3Dsp
from arenite.firmware.generator.lower.depthwise.depthwise_conv_2d_dsp import DepthwiseDsp, pack_taps
from arenite.firmware.generator.requant.fixed_shift import fix_shift
from arenite.firmware.generator.requant.folded_layer import fold_convolution
from arenite.firmware.generator.target import DSP, Target
from tests.firmware.engine.conv.convolution_graphs import RELU, RELU6, SAME, VALID, conv
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated

BALANCED = Target("cortex-m4f", DSP, "balanced")
SPEED = Target("cortex-m4f", DSP, "speed")
_RELU_OUT = Quantization((0.3,), (-128,))


@pytest.fixture(autouse=True)
def any_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the kernel for images of one row also where it normally saves too little."""
    module = "arenite.firmware.generator.lower.depthwise.depthwise_one_row_dsp"
    monkeypatch.setattr(f"{module}._MIN_SAVED_PER_BYTE", -1e6)


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


def kernels(models: list[Model]) -> list[str]:
    """Return the kernel that runs each model's only layer."""
    return [lower(m, target=SPEED).calls[0].call.kernel for m in models]  # type: ignore[union-attr]


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


def all_models() -> list[Model]:
    return [
        *windows_3x3(),
        *narrow_3x3(),
        *other_windows(),
        *one_row(),
        *one_channel(),
        *overwriting(),
    ]


def test_each_layer_runs_with_its_kernel() -> None:
    three = kernels(windows_3x3())
    # For some layers, the kernel's fixed shift is not proven to be exact. Layers with one input channel run as CONV_2D.
    assert sum(k.startswith("ar_depthwise_3x3_") for k in three) > 0.9 * len(three)
    narrow = kernels(narrow_3x3())
    assert narrow.count("ar_depthwise_3x3_columns_s8_dsp") > 0.9 * len(narrow)
    assert set(kernels(one_row())) == {"ar_depthwise_one_row_s8_dsp"}
    assert set(kernels(other_windows())) == {"ar_depthwise_conv_2d_s8_dsp"}
    assert set(kernels(one_channel())) == {"ar_conv_2d_s8_dsp"}


def test_the_portable_bodies_are_exact() -> None:
    assert compare(all_models(), seed=5, runs=4, targets=[SPEED]) == []


@pytest.mark.slow
@pytest.mark.qemu
def test_the_assembly_is_exact_on_a_cortex_m4() -> None:
    assert compare_emulated(all_models(), "qemu_mps2_an386", seed=6)[0] == []


def test_an_output_row_can_overwrite_its_input_row() -> None:
    variant = Depthwise3x3Dsp()
    for model, expected in (
        (depthwise(6, 6, 4, padding=SAME), ((0, 0),)),
        (depthwise(6, 6, 4, padding=SAME, stride=2), ()),
        (depthwise(6, 6, 4, padding=VALID), ()),
    ):
        assert variant.in_place(model.main, model.main.ops[0], SPEED) == expected


def test_an_output_pixel_can_overwrite_an_input_pixel_that_no_later_window_reads() -> None:
    variant = DepthwiseDsp()
    for model, expected in (
        (depthwise(9, 1, 8, (4, 1), padding=VALID), ((0, 0),)),
        (depthwise(9, 10, 8, (5, 3), padding=VALID, stride=2), ((0, 0),)),
        (depthwise(9, 1, 8, (4, 1), padding=SAME), ()),
        (depthwise(9, 9, 8, (5, 5), padding=SAME), ()),
        (depthwise(5, 6, 4, (2, 2), batch=2, padding=VALID), ()),
    ):
        assert variant.in_place(model.main, model.main.ops[0], SPEED) == expected
    for model in overwriting():
        generated = lower(model, target=BALANCED)
        graph = generated.model.main
        assert generated.plan.offsets[graph.inputs[0]] == generated.plan.offsets[graph.outputs[0]]


def test_the_fixed_shift_changes_no_output() -> None:
    """Requantization with the layer's own shift and with the fixed shift gives equal outputs for every accumulator."""
    graph = depthwise(6, 6, 8, padding=SAME).main
    folded = fold_convolution(graph, graph.ops[0], axis=3)
    assert folded is not None
    shift = 8
    fixed = fix_shift(folded, axis=3, shift=shift)
    assert fixed is not None
    max_sum = np.abs(folded.weights).sum(axis=(0, 1, 2)).max() * 128
    sums = np.arange(-max_sum, max_sum + 1)[:, None]
    # The accumulators are multiplied by 256, so that an offset has eight fractional bits.
    requant = folded.requant
    own_scaled = (folded.bias + sums) * 256 + requant.offset
    expected = (own_scaled * requant.multiplier + (requant.rounding << 32)) >> (32 + requant.shift)
    fixed_scaled = fixed.bias.astype(np.int64) + sums * 256
    actual = (fixed_scaled * fixed.multiplier + (fixed.rounding << 32)) >> (32 + shift)
    reachable = np.abs(sums) <= np.abs(folded.weights).sum(axis=(0, 1, 2)) * 127
    assert np.array_equal(np.clip(actual, -128, 127)[reachable], np.clip(expected, -128, 127)[reachable])


def test_no_weight_is_stored_twice() -> None:
    for channels, taps in ((4, 5), (8, 4), (6, 3), (7, 9)):
        filters = np.arange(channels * taps).reshape(channels, taps) % 251 - 125
        packed = pack_taps(filters).view(np.int8)
        assert len(packed) == -(-channels * taps // 4) * 4
        assert sorted(packed[: channels * taps]) == sorted(filters.reshape(-1))
