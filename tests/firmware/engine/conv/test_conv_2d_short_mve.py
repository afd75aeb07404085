"""The Helium kernels for strips and for short filters give LiteRT's bytes, and run where they fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.lower.conv.conv_2d_short_mve import pack_pairs
from arenite.firmware.generator.lower.conv.gemm_layout_mve import DoubleRounding
from arenite.firmware.generator.operator_needs import op_needs
from arenite.firmware.generator.target import MVE, Target
from tests.firmware.engine.conv.convolution_graphs import RELU, RELU6, VALID, changed, conv
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated

SPEED = Target("cortex-m55", MVE, "speed")
_STRIPS = "ar_conv_2d_strips_s8_mve"
_RELU_OUT = Quantization((0.3,), (-128,))
_RELUS: tuple[dict[str, object], ...] = ({"activation": RELU, "out_quant": _RELU_OUT}, {})


def layer(shape: tuple[int, ...], filters: tuple[int, ...], **options: object) -> Model:
    return conv("CONV_2D", shape, filters, **options)  # type: ignore[arg-type]


def pointwise(depth: int, out_c: int, pixels: int, **options: object) -> Model:
    """Return a 1 x 1 convolution of three rows of ``pixels`` pixels."""
    return layer((1, 3, pixels, depth), (out_c, 1, 1, depth), **options)


def kernels(models: list[Model], target: Target = SPEED) -> set[str]:
    """Return the kernels that run the models' only layers."""
    return {lower(m, target=target).calls[0].call.kernel for m in models}  # type: ignore[union-attr]


def with_strips() -> list[Model]:
    return [
        layer((2, 9, 10, 16), (7, 3, 3, 16)),
        layer((1, 11, 10, 1), (6, 10, 4, 1), stride=2),
        layer(
            (1, 11, 8, 5),
            (4, 5, 5, 5),
            padding=VALID,
            activation=RELU6,
            out_quant=Quantization((0.02,), (-20,)),
        ),
        layer((1, 8, 3, 4), (4, 5, 5, 4)),
        layer((1, 9, 30, 24), (5, 3, 3, 24), activation=RELU, out_quant=_RELU_OUT),
        layer((1, 12, 11, 3), (7, 3, 3, 3), stride=2),  # an odd number of filters
    ]


def short_strips() -> list[Model]:
    return [
        *(layer((1, 12, 11, 3), (8, 3, 3, 3), stride=s, **k) for s in (1, 2) for k in _RELUS),
        *(layer((2, 9, 11, 1), (8, 3, 3, 1), stride=s, **k) for s in (1, 2) for k in _RELUS),
        layer(
            (1, 12, 9, 2),
            (4, 4, 4, 2),
            stride=2,
            padding=VALID,
            activation=RELU6,
            out_quant=Quantization((0.02,), (-20,)),
        ),
        conv("DEPTHWISE_CONV_2D", (1, 12, 10, 1), (1, 3, 3, 8), stride=2),
        # Filters of three vectors, with 4, 5, 6 and 7 rows of outputs.
        *(layer((2, h, 10, 1), (6, 10, 4, 1), stride=2, **_RELUS[0]) for h in (7, 9, 11, 13)),
        layer((1, 6, 7, 4), (4, 3, 4, 4), **_RELUS[0]),
        layer((1, 8, 5, 5), (4, 7, 1, 5), **_RELUS[0]),
    ]


def short_pixels() -> list[Model]:
    binary = {"in_quant": Quantization((0.0625,), (-7,)), "out_quant": Quantization((0.25,), (-128,))}
    extreme = changed(  # a multiplier of 2^30 with a shift of 0, and shifts of up to 24 bits
        pointwise(16, 26, 5, activation=RELU, **binary),
        1,
        quant=Quantization(tuple(2.0 ** (1 - k % 25) for k in range(26)), (0,) * 26, 0),
    )
    return [
        *(
            pointwise(d, c, p, **k)
            for d in (8, 16, 32)
            for c, p in ((4, 4), (8, 5), (6, 7), (10, 3))
            for k in _RELUS
        ),
        changed(pointwise(32, 4, 4), 1, data=np.full((4, 1, 1, 32), -128, np.int8)),
        extreme,
    ]


def copied_pixels() -> list[Model]:
    return [
        *(pointwise(d, 6, p, **_RELUS[0]) for d in (33, 40, 48) for p in (3, 4, 5, 6)),
        *(pointwise(d, 4, 3, **k) for d in (1, 12, 20) for k in _RELUS),
        layer((2, 9, 1, 40), (4, 1, 1, 40), activation=RELU6, out_quant=Quantization((0.02,), (-128,))),
    ]


def test_each_layer_runs_with_its_kernel() -> None:
    assert kernels(with_strips()) == {_STRIPS}
    assert kernels(short_strips()) == {f"ar_conv_2d_short{n}_s8_mve" for n in (16, 32, 48)}
    assert kernels(copied_pixels()) == {f"ar_conv_2d_short{n}_s8_mve" for n in (16, 32, 48)}
    assert kernels(short_pixels()) == {f"ar_conv_2d_depth{n}_s8_mve" for n in (8, 16, 32)}


def test_the_portable_bodies_are_exact() -> None:
    models = [*with_strips(), *short_strips(), *short_pixels(), *copied_pixels()]
    assert compare(models, seed=5, runs=4, targets=[SPEED]) == []


@pytest.mark.slow
@pytest.mark.qemu
def test_the_assembly_is_exact_on_a_cortex_m55() -> None:
    models = [*with_strips(), *short_strips(), *short_pixels(), *copied_pixels()]
    assert compare_emulated(models, "qemu_mps3_an547", seed=8)[0] == []


def test_other_builds_keep_their_kernels() -> None:
    models = [*with_strips(), *short_strips(), *short_pixels(), *copied_pixels()]
    for target in (replace(SPEED, optimise="balanced"), replace(SPEED, optimise="ram")):
        assert {k.removesuffix("_row") for k in kernels(models, target)} == {"ar_conv_2d_s8_mve"}
    streamed = replace(SPEED, stream_input=True)
    assert {k.removesuffix("_row") for k in kernels(short_pixels(), streamed)} == {"ar_conv_2d_s8_mve"}


def test_a_strip_takes_no_more_memory_than_windows() -> None:
    """A strip of twelve rows has thirteen with padding. The kernel for short filters reads 32 bytes after it."""
    assert op_needs(layer((1, 12, 11, 3), (7, 3, 3, 3), stride=2).main, SPEED)[0].scratch == 13 * 9
    assert op_needs(layer((1, 12, 11, 3), (8, 3, 3, 3), stride=2).main, SPEED)[0].scratch == 13 * 9 + 32
    assert op_needs(pointwise(40, 4, 4, **_RELUS[0]).main, SPEED)[0].scratch == 12 * 40 + 32
    tall = layer((1, 200, 4, 24), (6, 3, 3, 24))
    assert kernels([tall]) == {"ar_conv_2d_s8_mve"}


def test_filters_of_three_vectors_need_outputs_above_the_zero_point() -> None:
    assert kernels([pointwise(40, 6, 4)]) == {"ar_conv_2d_s8_mve"}
    assert kernels([layer((1, 6, 7, 4), (4, 3, 4, 4))]) == {_STRIPS}


def test_pairs_of_filters_are_packed_with_their_constants() -> None:
    filters = np.arange(4 * 9, dtype=np.int8).reshape(4, 9)
    rounding = DoubleRounding(
        np.array([5, 6, 7, 8], np.int32), np.array([0, -1, -2, -24], np.int8), two_sided=False
    )
    words = pack_pairs(filters, np.array([1, 2, 3, 4], np.int32), rounding, -3, twice=False).reshape(2, 16)
    stored = words[:, :8].copy().view(np.int8).reshape(4, 16)
    assert np.array_equal(stored[:, :9], filters)
    assert not stored[:, 9:].any()
    assert words[0, 8:].tolist() == [1, 2, -3, -3 * 2 + 1, 5, 6, 24, 23]
    assert words[1, 8:].tolist() == [3, 4, -3 * 4 + 2, (-3 << 24) + (1 << 23), 7, 8, 22, 0]
