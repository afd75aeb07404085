"""The depthwise kernels for DSP give LiteRT's bytes, on this computer and as assembly on a Cortex-M4."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.firmware.generator.lower.depthwise.depthwise_3x3_dsp import Depthwise3x3Dsp
from arenite.firmware.generator.lower.depthwise.depthwise_conv_2d_dsp import DepthwiseDsp, pack_taps
from arenite.firmware.generator.requant.fixed_shift import fix_shift
from arenite.firmware.generator.requant.folded_layer import fold_convolution
from arenite.firmware.generator.target import DSP, Target
from tests.firmware.engine.conv.convolution_graphs import SAME, VALID
from tests.firmware.engine.depthwise.depthwise_graphs import (
    depthwise,
    narrow_3x3,
    one_channel,
    one_row,
    other_windows,
    overwriting,
    windows_3x3,
)
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated

BALANCED = Target("cortex-m4f", DSP, "balanced")
SPEED = Target("cortex-m4f", DSP, "speed")


@pytest.fixture(autouse=True)
def any_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the kernel for images of one row also where it normally saves too little."""
    module = "arenite.firmware.generator.lower.depthwise.depthwise_one_row_dsp"
    monkeypatch.setattr(f"{module}._MIN_SAVED_PER_BYTE", -1e6)


def kernels(models: list[Model]) -> list[str]:
    """Return the kernel that runs each model's only layer."""
    return [lower(m, target=SPEED).calls[0].call.kernel for m in models]  # type: ignore[union-attr]


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
