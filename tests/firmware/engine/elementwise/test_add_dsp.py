"""ADD, SUB and AVERAGE_POOL_2D for DSP give LiteRT's bytes, on this computer and as assembly on a Cortex-M4."""

from __future__ import annotations

import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.target import DSP, Target
from tests.firmware.engine.litert_exact import single
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated
from tests.fuzz.graph_builder import f32

SPEED = Target("cortex-m4f", DSP, "speed")
_A, _B, _OUT, _RELU_OUT = (
    Quantization((f32(scale),), (zero_point,))
    for scale, zero_point in ((0.021, -5), (0.05, 17), (0.063, 9), (0.06, -128))
)


def sums() -> list[Model]:
    """Return models that add tensors of different sizes, around multiples of four, with and without clamps."""
    models = []
    for count in (1, 2, 3, 4, 5, 7, 8, 31, 256):
        shape = (1, 1, 1, count)
        for name, activation in (("ADD", 0), ("ADD", 1), ("SUB", 0), ("ADD", 3)):
            models.append(
                single(
                    name,
                    [(shape, "int8", _A), (shape, "int8", _B)],
                    (shape, "int8", _RELU_OUT if activation == 1 else _OUT),
                    f"{name.capitalize()}Options",
                    2,
                    fused_activation_function=activation,
                )
            )
    return models


def means() -> list[Model]:
    """Return models with one average pool each, over the whole image and over small windows."""
    models = []
    for height, width, channels, k_h, k_w, stride, padding in (
        (25, 5, 8, 25, 5, 1, 1),
        (16, 16, 5, 16, 16, 1, 1),
        (5, 6, 7, 3, 2, 2, 0),
        (3, 3, 4, 3, 3, 1, 0),
    ):
        out = [-(-(n if padding == 0 else n - k + 1) // stride) for n, k in ((height, k_h), (width, k_w))]
        models.append(
            single(
                "AVERAGE_POOL_2D",
                [((2, height, width, channels), "int8", _A)],
                ((2, *out, channels), "int8", _A),
                "Pool2DOptions",
                2,
                padding=padding,
                stride_h=stride,
                stride_w=stride,
                filter_height=k_h,
                filter_width=k_w,
                fused_activation_function=0,
            )
        )
    return models


def test_sums_and_means_run_with_the_dsp_kernels() -> None:
    used = {lower(m, target=SPEED).calls[0].call.kernel for m in (*sums(), *means())}  # type: ignore[union-attr]
    # The DSP kernel computes a sum only if a single linear function is exact.
    assert used == {"ar_add_s8", "ar_add_s8_dsp", "ar_average_pool_2d_s8_dsp"}


def test_the_portable_bodies_are_exact() -> None:
    assert compare([*sums(), *means()], seed=1, runs=4, targets=[SPEED]) == []


@pytest.mark.slow
@pytest.mark.qemu
def test_the_assembly_is_exact_on_a_cortex_m4() -> None:
    assert compare_emulated([*sums(), *means()], "qemu_mps2_an386", seed=2)[0] == []
