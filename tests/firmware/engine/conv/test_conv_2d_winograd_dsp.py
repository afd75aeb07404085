"""Winograd's F(2,3) gives the bytes of LiteRT's convolution, on this computer and as assembly on a Cortex-M4."""

from __future__ import annotations

import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.lower.conv.conv_2d_winograd_dsp import Conv2DWinogradDsp
from arenite.firmware.generator.target import DSP, Target
from tests.firmware.engine.conv.convolution_graphs import RELU, RELU6, SAME, VALID, conv
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated

_RELU_OUT = Quantization((0.3,), (-128,))
SPEED = Target("cortex-m4f", DSP, "speed")


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the kernel also for small images, for which it is normally not worth its flash."""
    monkeypatch.setattr("arenite.firmware.generator.lower.conv.conv_2d_winograd_dsp._MIN_SAVED_PER_BYTE", 0)


def models() -> list[Model]:
    """Return 3x3 convolutions that the Winograd kernel runs."""
    return [
        conv("CONV_2D", (1, 6, 6, 4), (2, 3, 3, 4), padding=SAME),
        # Two tiles per row, so a group of three tiles, which the kernel computes together, covers two rows.
        conv("CONV_2D", (1, 5, 4, 4), (6, 3, 3, 4), padding=SAME),
        conv("CONV_2D", (1, 3, 10, 8), (4, 3, 3, 8), padding=VALID),  # one row of outputs
        conv("CONV_2D", (2, 7, 8, 12), (4, 3, 3, 12), padding=SAME),
        conv("CONV_2D", (1, 9, 12, 4), (2, 3, 3, 4), padding=VALID, activation=RELU6),
        conv("CONV_2D", (1, 8, 8, 16), (16, 3, 3, 16), activation=RELU, out_quant=_RELU_OUT),
        conv("CONV_2D", (1, 8, 8, 4), (4, 3, 3, 4), in_quant=Quantization((0.05,), (-128,))),
    ]


def test_the_portable_body_is_exact() -> None:
    for model in models():
        (layer,) = lower(model, target=SPEED).calls
        assert layer.call is not None and layer.call.kernel == "ar_conv_2d_s8_winograd_dsp"
    assert compare(models(), seed=2, runs=6, targets=[SPEED]) == []


@pytest.mark.slow
@pytest.mark.qemu
def test_the_assembly_is_exact_on_a_cortex_m4() -> None:
    assert compare_emulated(models(), "qemu_mps2_an386", seed=3)[0] == []


def test_winograd_runs_only_if_it_is_worth_its_flash(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is chosen only when optimizing for speed, and only if each weight is used for many outputs."""
    monkeypatch.undo()
    variant = Conv2DWinogradDsp()
    small, large = (conv("CONV_2D", (1, n, n, 8), (8, 3, 3, 8)) for n in (8, 32))
    for model, target, expected in (
        (large, SPEED, True),
        (small, SPEED, False),
        (large, Target("cortex-m4f", DSP, "balanced"), False),
    ):
        assert variant.can_run(model.main, model.main.ops[0], target) is expected


def test_winograd_rejects_unsupported_convolutions() -> None:
    variant = Conv2DWinogradDsp()
    for model in (
        conv("CONV_2D", (1, 8, 8, 4), (4, 3, 3, 4), stride=2),
        conv("CONV_2D", (1, 8, 8, 4), (4, 3, 3, 4), dilation=2),
        conv("CONV_2D", (1, 8, 8, 4), (4, 5, 5, 4)),
        conv("CONV_2D", (1, 8, 8, 3), (4, 3, 3, 3)),  # three input channels
        conv("CONV_2D", (1, 8, 7, 4), (4, 3, 3, 4)),  # an odd width of the output
        conv("CONV_2D", (1, 8, 8, 4), (3, 3, 3, 4)),  # an odd number of output channels
        conv("CONV_2D", (1, 8, 8, 4), (4, 3, 3, 4), dtype="int16"),
    ):
        assert not variant.can_run(model.main, model.main.ops[0], SPEED)
