"""The Helium kernels give LiteRT's bytes. Their portable bodies run on this computer, their assembly on an emulated
Cortex-M55.

Neighboring channels have different weights, biases and scales in all layers, so a lane with the sum of another lane
gives wrong outputs. A wrong order of the registers in the VMOV that moves two lanes would cause such an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.lower.conv.gemm_layout_mve import folded_bias, pack_filters
from arenite.firmware.generator.lower.depthwise.depthwise_conv_2d_mve import pack_weights, sums_fit
from arenite.firmware.generator.target import MVE, Target
from tests.firmware.engine.conv.convolution_graphs import RELU, RELU6, SAME, VALID, changed, conv, scales
from tests.firmware.engine.dense.dense_graphs import fully_connected
from tests.firmware.engine.elementwise.quantized_tensors import q
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated
from tests.fuzz.graph_builder import GraphBuilder

SPEED = Target("cortex-m55", MVE, "speed")
BALANCED = Target("cortex-m55", MVE, "balanced")
#: The zero point of a ReLU, -128. No output is below it.
_RELU_OUT = Quantization((0.3,), (-128,))


def kernels(models: list[Model], target: Target = SPEED) -> set[str]:
    """Return the kernels that run the models' only layers."""
    return {lower(m, target=target).calls[0].call.kernel for m in models}  # type: ignore[union-attr]


def pointwise(depth: int, out_c: int, pixels: int, **options: object) -> Model:
    """Return a 1x1 convolution with ``pixels`` pixels in one row."""
    return conv("CONV_2D", (1, 1, pixels, depth), (out_c, 1, 1, depth), **options)  # type: ignore[arg-type]


def depthwise(
    shape: tuple[int, int, int], window: tuple[int, int], batch: int = 1, **options: object
) -> Model:
    """Return a depthwise convolution of depth multiplier 1; ``shape`` is (height, width, channels)."""
    return conv("DEPTHWISE_CONV_2D", (batch, *shape), (1, *window, shape[2]), **options)  # type: ignore[arg-type]


def convolutions() -> list[Model]:
    return [
        # Depths that are multiples of 32, of 16 and of neither, with even and odd numbers of pixels.
        *(
            pointwise(d, 5, p)
            for d, p in ((1, 3), (7, 2), (16, 3), (17, 5), (31, 4), (32, 5), (48, 2), (100, 3))
        ),
        # These filters are short enough to stay in registers if no output is below the zero point.
        *(
            pointwise(d, c, p, activation=RELU, out_quant=_RELU_OUT)
            for d, c, p in ((1, 4, 2), (8, 7, 4), (15, 9, 5), (16, 8, 6), (16, 5, 3))
        ),
        conv("CONV_2D", (1, 5, 6, 16), (6, 1, 1, 16), stride=2, activation=RELU, out_quant=_RELU_OUT),
        # Filters are computed in groups of four. The last group overlaps the group before it.
        *(pointwise(20, c, 3, activation=RELU, out_quant=_RELU_OUT) for c in range(4, 13)),
        conv("CONV_2D", (2, 6, 5, 24), (9, 1, 1, 24), stride=2),
        conv("CONV_2D", (2, 6, 7, 3), (8, 3, 3, 3), stride=2, activation=RELU, out_quant=_RELU_OUT),
        conv("CONV_2D", (1, 9, 10, 1), (6, 10, 4, 1), stride=2),
        conv(
            "CONV_2D", (1, 9, 9, 16), (7, 3, 3, 16), activation=RELU6, out_quant=Quantization((0.02,), (-20,))
        ),
        conv("CONV_2D", (1, 9, 9, 5), (4, 5, 5, 5), padding=VALID),
        conv("CONV_2D", (1, 2, 2, 4), (4, 5, 5, 4)),  # windows larger than the image
        conv("CONV_2D", (1, 1, 1, 7), (5, 3, 3, 7)),  # a single pixel
        conv("CONV_2D", (1, 1, 1, 1), (5, 3, 3, 1), activation=RELU, out_quant=_RELU_OUT),
        conv("CONV_2D", (1, 9, 30, 40), (4, 3, 3, 40)),  # more windows than the scratch holds
        conv("DEPTHWISE_CONV_2D", (1, 9, 10, 1), (1, 3, 3, 8), stride=2),
    ]


def three_by_three() -> list[Model]:
    return [
        *(depthwise((4, 5, c), (3, 3)) for c in (1, 2, 3, 4, 8, 12, 15, 16, 17, 31, 32, 40)),
        *(depthwise((3, w, 8), (3, 3), activation=RELU, out_quant=_RELU_OUT) for w in range(1, 8)),
        *(depthwise((h, w, 16), (3, 3), stride=2) for h, w in ((1, 1), (2, 5), (5, 6), (7, 2))),
        depthwise(
            (7, 8, 24), (3, 3), padding=VALID, activation=RELU6, out_quant=Quantization((0.02,), (-20,))
        ),
        depthwise((9, 9, 20), (3, 3), dilation=2),
        depthwise((5, 4, 8), (3, 3), batch=3),
    ]


def other_windows() -> list[Model]:
    return [
        *(depthwise((9, 1, 40), (k, 1), padding=VALID) for k in (1, 2, 3, 9)),
        *(depthwise((9, 1, 24), (k, 1), stride=2) for k in (3, 4)),
        *(depthwise((1, 9, 17), (1, k)) for k in (2, 5)),
        depthwise((6, 7, 20), (5, 4), batch=2, activation=RELU, out_quant=_RELU_OUT),
        depthwise((9, 9, 16), (2, 2), dilation=3, padding=VALID),
        depthwise((3, 3, 16), (5, 5)),
    ]


def fully_connected_layers() -> list[Model]:
    return [
        *(fully_connected(21, n, batches=2, weight_scales=scales(n)) for n in (1, 2, 3, 4, 5, 7, 8)),
        *(fully_connected(depth, 6, activation=RELU) for depth in (1, 8, 16, 17, 33, 128)),
    ]


def convolutions_of_one_pixel() -> list[Model]:
    return [
        *(conv("CONV_2D", (2, 1, 1, 37), (c, 1, 1, 37)) for c in (1, 2, 3, 4, 6)),
        conv("CONV_2D", (1, 3, 4, 5), (7, 3, 4, 5), padding=VALID, activation=RELU, out_quant=_RELU_OUT),
    ]


def two_inputs(name: str, elements: int, activation: int = 0) -> Model:
    """Return a model of an operator with two inputs of ``elements`` elements."""
    b = GraphBuilder(np.random.default_rng(elements))
    inputs = [b.input((1, elements), "int8", q(0.0231, -7)), b.input((1, elements), "int8", q(0.0517, 30))]
    out = b.tensor((1, elements), "int8", q(0.0607, -11))
    b.op(name, inputs, [out], f"{name.capitalize()}Options", fused_activation_function=activation)
    return b.build()


def sums() -> list[Model]:
    return [two_inputs(name, n, a) for name in ("ADD", "SUB") for n, a in ((1, 0), (6, RELU), (64, RELU6))]


def pool(
    name: str, shape: tuple[int, int, int, int], window: tuple[int, int], stride: int, padding: int
) -> Model:
    """Return a model of one pool with ReLU."""
    b = GraphBuilder(np.random.default_rng(1))
    x = b.input(shape, "int8", q(0.05, -7))
    sizes = [
        -(-size // stride) if padding == SAME else (size - k) // stride + 1
        for size, k in zip(shape[1:3], window, strict=True)
    ]
    y = b.tensor((shape[0], *sizes, shape[3]), "int8", q(0.05, -7))
    options: dict[str, Any] = {"padding": padding, "stride_h": stride, "stride_w": stride}
    options["fused_activation_function"] = RELU
    b.op(name, [x], [y], "Pool2DOptions", 2, filter_height=window[0], filter_width=window[1], **options)
    return b.build()


def pools() -> list[Model]:
    return [
        pool(name, *shape)
        for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D")
        for shape in (
            ((2, 5, 6, 19), (3, 3), 2, SAME),
            ((1, 4, 4, 8), (4, 4), 4, VALID),
            ((1, 25, 5, 3), (25, 5), 1, VALID),
            ((1, 3, 3, 33), (2, 2), 1, SAME),
        )
    ]


def all_models() -> list[Model]:
    groups = [
        convolutions(),
        three_by_three(),
        convolutions_of_one_pixel(),
        other_windows(),
        fully_connected_layers(),
        sums(),
        pools(),
    ]
    return [model for group in groups for model in group]


def test_each_layer_runs_with_its_kernel() -> None:
    assert kernels(convolutions(), BALANCED) == {"ar_conv_2d_s8_mve"}
    assert kernels(three_by_three()[1:], BALANCED) == {"ar_depthwise_3x3_s8_mve"}
    assert kernels(other_windows()) == {"ar_depthwise_conv_2d_s8_mve"}
    assert kernels(convolutions_of_one_pixel()) == {"ar_fully_connected_s8_mve"}
    assert kernels(fully_connected_layers()) == {"ar_fully_connected_s8_mve"}
    assert kernels(sums()) == {"ar_add_s8_mve"}
    assert kernels(pools()) == {"ar_average_pool_2d_s8_mve", "ar_max_pool_2d_s8_mve"}


def test_the_portable_bodies_are_exact() -> None:
    assert compare(all_models(), seed=5, runs=4, targets=[SPEED, BALANCED]) == []


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(("seed", "optimise"), [(6, "speed"), (7, "balanced")])
def test_the_assembly_is_exact_on_a_cortex_m55(seed: int, optimise: str) -> None:
    assert compare_emulated(all_models(), "qemu_mps3_an547", seed=seed, optimise=optimise)[0] == []


def test_filters_are_packed_without_padding() -> None:
    """Five filters of 59 weights are stored in columns of 32, 16 and 11 weights: the first column of all filters comes
    first."""
    filters = (np.arange(5 * 59) % 251 - 125).astype(np.int8).reshape(5, 59)
    packed = pack_filters(filters)
    assert packed.size == filters.size
    for c in range(5):
        pieces = (packed[c * 32 :][:32], packed[160 + c * 16 :][:16], packed[240 + c * 11 :][:11])
        assert np.array_equal(np.concatenate(pieces), filters[c])


def test_full_blocks_of_depthwise_weights_need_no_padding() -> None:
    rng = np.random.default_rng(0)
    filters, bias = rng.integers(-127, 128, (32, 9)).astype(np.int8), rng.integers(-9, 9, 32).astype(np.int32)
    assert pack_weights(filters, bias).nbytes == filters.nbytes + bias.nbytes


def test_weights_of_minus_128_run_with_the_kernel_only_if_sums_fit_int16() -> None:
    """The kernel adds the products of two neighboring taps in int16. Only one of the two may be -128."""
    taps = np.full((3, 4), 100, np.int8)
    taps[1, 1] = taps[2, 3] = taps[2, 2] = -128
    assert sums_fit(taps[:2])
    assert not sums_fit(taps)
    model = depthwise((5, 5, 16), (3, 3), activation=RELU, out_quant=_RELU_OUT)
    lowest = changed(model, 1, data=np.full((1, 3, 3, 16), -128, np.int8))
    assert not {k for k in kernels([lowest], BALANCED) if k.endswith("mve")}
    data = np.full((1, 3, 3, 16), 127, np.int8)
    data[:, ::2, ::2] = -128
    assert kernels([changed(model, 1, data=data)], BALANCED) == {"ar_depthwise_3x3_s8_mve"}
    assert compare([changed(model, 1, data=data)], seed=1, runs=4, targets=[BALANCED]) == []


def test_a_folded_bias_wraps_like_the_sums() -> None:
    filters = np.full((1, 1 << 16), -128, np.int8)
    folded = folded_bias(filters, np.array([1 << 30], np.int32), -128)
    assert folded.tolist() == [(1 << 30) - (1 << 30)]
