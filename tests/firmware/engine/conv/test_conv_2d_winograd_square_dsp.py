"""Winograd's F(2x2, 3x3) gives the bytes of LiteRT's convolution, on this computer and as assembly on a Cortex-M4."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.lower.conv.conv_2d_winograd_square_dsp import (
    Conv2DWinogradSquareDsp,
    winograd_square_weights,
)
from arenite.firmware.generator.target import DSP, Target
from tests.firmware.engine.conv.convolution_graphs import RELU, RELU6, SAME, VALID, conv
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated

_RELU_OUT = Quantization((0.3,), (-128,))
_MODULE = "arenite.firmware.generator.lower.conv.conv_2d_winograd_square_dsp"
SPEED = Target("cortex-m4f", DSP, "speed")


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the kernel also for small images, for which it is normally not worth its flash."""
    monkeypatch.setattr(f"{_MODULE}._MIN_SAVED_PER_BYTE", 0)


def models() -> list[Model]:
    """Return 3x3 convolutions that the kernel runs."""
    return [
        conv("CONV_2D", (1, 6, 6, 16), (2, 3, 3, 16), padding=SAME),
        # Four tiles per row: the first two groups of three tiles, which the kernel computes together, share a row.
        conv("CONV_2D", (1, 4, 8, 16), (6, 3, 3, 16), padding=SAME),
        conv("CONV_2D", (1, 4, 12, 32), (4, 3, 3, 32), padding=VALID),  # one row of tiles
        conv("CONV_2D", (2, 8, 10, 48), (4, 3, 3, 48), padding=SAME),
        conv("CONV_2D", (1, 8, 12, 16), (2, 3, 3, 16), padding=VALID, activation=RELU6),
        conv("CONV_2D", (1, 8, 8, 16), (16, 3, 3, 16), activation=RELU, out_quant=_RELU_OUT),
        conv("CONV_2D", (1, 8, 8, 16), (4, 3, 3, 16), in_quant=Quantization((0.05,), (-128,))),
    ]


def test_the_portable_body_is_exact() -> None:
    for model in models():
        (layer,) = lower(model, target=SPEED).calls
        assert layer.call is not None and layer.call.kernel == "ar_conv_2d_s8_winograd_square_dsp"
    assert compare(models(), seed=2, runs=6, targets=[SPEED]) == []


@pytest.mark.slow
@pytest.mark.qemu
def test_the_assembly_is_exact_on_a_cortex_m4() -> None:
    assert compare_emulated(models(), "qemu_mps2_an386", seed=3)[0] == []


def test_the_kernel_runs_only_if_it_is_worth_its_flash(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is chosen only when optimizing for speed, and only if each weight is used for many outputs."""
    monkeypatch.undo()
    variant = Conv2DWinogradSquareDsp()
    small, large = (conv("CONV_2D", (1, n, n, 16), (8, 3, 3, 16)) for n in (8, 32))
    for model, target, expected in (
        (large, SPEED, True),
        (small, SPEED, False),
        (large, Target("cortex-m4f", DSP, "balanced"), False),
    ):
        assert variant.can_run(model.main, model.main.ops[0], target) is expected


def test_the_kernel_rejects_unsupported_convolutions() -> None:
    variant = Conv2DWinogradSquareDsp()
    for model in (
        conv("CONV_2D", (1, 8, 8, 16), (4, 3, 3, 16), stride=2),
        conv("CONV_2D", (1, 8, 8, 16), (4, 3, 3, 16), dilation=2),
        conv("CONV_2D", (1, 8, 8, 8), (4, 3, 3, 8)),  # not a multiple of 16 channels
        conv("CONV_2D", (1, 8, 7, 16), (4, 3, 3, 16)),  # an odd width of the output
        conv("CONV_2D", (1, 7, 8, 16), (4, 3, 3, 16)),  # an odd height of the output
        conv("CONV_2D", (1, 8, 4, 16), (4, 3, 3, 16)),  # rows of two tiles
        conv("CONV_2D", (1, 8, 8, 16), (3, 3, 3, 16)),  # an odd number of output channels
        conv("CONV_2D", (1, 8, 8, 16), (4, 3, 3, 16), dtype="int16"),
    ):
        assert not variant.can_run(model.main, model.main.ops[0], SPEED)


def test_transformed_weights_of_the_extremes_fit_into_16_bits() -> None:
    signs = np.random.default_rng(0).choice([-128, 127], (200, 3, 3, 16))
    planes = winograd_square_weights(np.concatenate([signs, np.full((1, 3, 3, 16), -128)]))
    assert planes.shape == (201, 16, 16)
    assert np.abs(planes).max() < 1 << 15
