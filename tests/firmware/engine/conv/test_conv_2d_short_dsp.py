"""Convolutions with short filters give the bytes of LiteRT's, on this computer and as assembly on a Cortex-M4."""

from __future__ import annotations

from typing import Any

import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.lower.conv.conv_2d_short_dsp import Conv2DShortDsp, short_taps
from arenite.firmware.generator.target import DSP, Target
from tests.firmware.engine.conv.convolution_graphs import RELU, RELU6, SAME, VALID, conv
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated

_RELU_OUT = Quantization((0.3,), (-128,))
SPEED = Target("cortex-m4f", DSP, "speed")


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the kernel also for small images, for which it normally saves too little."""
    monkeypatch.setattr("arenite.firmware.generator.lower.conv.conv_2d_short_dsp._MIN_SAVED_PER_BYTE", -1e6)


def models() -> list[Model]:
    """Return convolutions that the kernel for short filters runs."""
    relu: dict[str, Any] = {"activation": RELU, "out_quant": _RELU_OUT}
    return [
        conv("CONV_2D", (1, 6, 6, 8), (16, 1, 1, 8), **relu),
        conv(
            "CONV_2D", (2, 5, 5, 16), (8, 1, 1, 16), **relu
        ),  # 50 pixels: two are left after blocks of three
        conv("CONV_2D", (1, 2, 2, 6), (4, 1, 1, 6), **relu),  # a group of which only two bytes are read
        conv("CONV_2D", (1, 9, 9, 3), (4, 3, 3, 3), stride=2, padding=SAME, **relu),  # a rest of one byte
        conv("CONV_2D", (2, 8, 7, 3), (2, 3, 3, 3), padding=VALID, **relu),
        conv("CONV_2D", (1, 6, 6, 64), (4, 1, 1, 64), **relu),  # 64 values
        conv("CONV_2D", (1, 12, 9, 1), (6, 10, 4, 1), stride=2, padding=SAME, **relu),
        conv("CONV_2D", (1, 7, 2, 1), (4, 5, 5, 1), padding=SAME, **relu),  # rows of two pixels
        conv("CONV_2D", (1, 9, 9, 4), (4, 2, 3, 4), padding=SAME, activation=RELU6),
        conv("DEPTHWISE_CONV_2D", (1, 9, 12, 1), (1, 3, 3, 8), stride=2, padding=SAME, **relu),
    ]


def test_the_portable_body_is_exact() -> None:
    for model in models():
        (layer,) = lower(model, target=SPEED).calls
        assert layer.call is not None and layer.call.kernel == "ar_conv_2d_s8_short_dsp"
    assert compare(models(), seed=2, runs=6, targets=[SPEED]) == []


@pytest.mark.slow
@pytest.mark.qemu
def test_the_assembly_is_exact_on_a_cortex_m4() -> None:
    assert compare_emulated(models(), "qemu_mps2_an386", seed=3)[0] == []


def test_short_filters_run_only_if_they_are_worth_their_flash(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is chosen only when optimizing for speed, and only if each weight is used for many outputs."""
    monkeypatch.undo()
    variant = Conv2DShortDsp()
    small, large = (
        conv("CONV_2D", (1, n, n, 8), (16, 1, 1, 8), activation=RELU, out_quant=_RELU_OUT) for n in (3, 32)
    )
    for model, target, expected in (
        (large, SPEED, True),
        (small, SPEED, False),
        (large, Target("cortex-m4f", DSP, "balanced"), False),
    ):
        assert variant.can_run(model.main, model.main.ops[0], target) is expected


def test_the_kernel_rejects_unsupported_convolutions() -> None:
    variant = Conv2DShortDsp()
    for model in (
        conv("CONV_2D", (1, 8, 8, 68), (4, 1, 1, 68)),  # more than 64 values
        conv("CONV_2D", (1, 8, 8, 4), (3, 1, 1, 4)),  # an odd number of output channels
        conv("CONV_2D", (1, 8, 8, 2), (4, 3, 3, 2), dilation=2),
        conv("CONV_2D", (1, 8, 8, 4), (4, 1, 1, 4), dtype="int16"),
    ):
        assert not variant.can_run(model.main, model.main.ops[0], SPEED)


def test_rows_of_a_window_end_with_their_rest() -> None:
    taps = short_taps(2, 3, 3)
    assert (taps.groups, taps.rest, taps.words) == (2, 1, 10)
    assert taps.order.tolist()[:10] == [0, 2, 1, 3, 4, 6, 5, 7, 8, -1]
    assert sorted(taps.order.tolist()) == [-1, -1, *range(18)]
