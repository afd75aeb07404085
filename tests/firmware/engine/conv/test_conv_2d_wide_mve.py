"""The Helium kernels for 1 x 1 convolutions of 64 and 128 channels give LiteRT's bytes, and run where they fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.lower.conv.conv_2d_wide_mve import pack_groups
from arenite.firmware.generator.lower.conv.gemm_layout_mve import DoubleRounding
from arenite.firmware.generator.target import MVE, Target
from tests.firmware.engine.conv.convolution_graphs import RELU, RELU6, changed, conv
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated

SPEED = Target("cortex-m55", MVE, "speed")
_RELU_OUT = Quantization((0.3,), (-128,))


def pointwise(depth: int, out_c: int, pixels: int, batch: int = 1, **options: object) -> Model:
    """Return a 1 x 1 convolution of ``pixels`` pixels in one row."""
    return conv("CONV_2D", (batch, 1, pixels, depth), (out_c, 1, 1, depth), **options)  # type: ignore[arg-type]


def kernel(model: Model, target: Target = SPEED) -> str:
    """Return the kernel that runs the model's only layer."""
    call = lower(model, target=target).calls[0].call
    assert call is not None
    return call.kernel


def models() -> list[Model]:
    sizes = ((4, 4), (8, 5), (12, 7))
    return [
        *(pointwise(d, c, p) for d in (64, 128) for c, p in sizes),
        *(pointwise(d, c, p, activation=RELU, out_quant=_RELU_OUT) for d in (64, 128) for c, p in sizes),
        pointwise(64, 8, 3, 3, activation=RELU6, out_quant=Quantization((0.02,), (-20,))),
        changed(pointwise(128, 4, 6), 1, data=np.full((4, 1, 1, 128), -128, np.int8)),
    ]


def test_each_layer_runs_with_its_kernel() -> None:
    assert {kernel(m) for m in models()} == {f"ar_conv_2d_depth{n}_s8_mve" for n in (64, 128)}


def test_the_portable_bodies_are_exact() -> None:
    assert compare(models(), seed=5, runs=4, targets=[SPEED]) == []


@pytest.mark.slow
@pytest.mark.qemu
def test_the_assembly_is_exact_on_a_cortex_m55() -> None:
    assert compare_emulated(models(), "qemu_mps3_an547", seed=8)[0] == []


def test_other_layers_keep_their_kernel() -> None:
    other = "ar_conv_2d_s8_mve"
    assert kernel(pointwise(64, 6, 8)) == other
    assert kernel(pointwise(80, 8, 8)) == other
    assert kernel(conv("CONV_2D", (1, 6, 6, 64), (8, 1, 1, 64), stride=2)) == other
    for target in (replace(SPEED, optimise="balanced"), replace(SPEED, stream_input=True)):
        assert kernel(pointwise(64, 8, 8), target).removesuffix("_row") == other


def test_weights_are_packed_in_the_order_in_which_they_are_read() -> None:
    filters = (np.arange(8 * 64) % 251 - 125).astype(np.int8).reshape(8, 64)
    rounding = DoubleRounding(np.arange(8, dtype=np.int32), np.arange(-8, 0, dtype=np.int8), two_sided=True)
    words = pack_groups(filters, np.arange(100, 108, dtype=np.int32), rounding)
    for c in range(8):
        weights = words[c // 4, :64].copy().view(np.int8).reshape(4, 4, 16)
        assert np.array_equal(weights[:, c % 4].reshape(-1), filters[c])
        assert words[c // 4, 64:].reshape(3, 4)[:, c % 4].tolist() == [100 + c, c, c - 8]
