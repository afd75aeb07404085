"""FULLY_CONNECTED and BATCH_MATMUL compute the same output bytes as LiteRT, and unsupported operators are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.lower.dense import fully_connected as lowering
from arenite.firmware.generator.operator_needs import check_supported
from tests.firmware.engine.conv.convolution_graphs import assert_refused, changed, scales, with_options
from tests.firmware.engine.dense.dense_graphs import fully_connected
from tests.fuzz.comparison import compare, lower
from tests.fuzz.fixed_graphs import assert_bit_exact
from tests.fuzz.graph_builder import GraphBuilder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FULLY_CONNECTED", "BATCH_MATMUL"])
def test_random_graphs_are_exact(name: str) -> None:
    assert_bit_exact(name, graphs=40)


@pytest.mark.slow
def test_layers_that_scale_with_a_double_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteRT multiplies the accumulator with a double. If no integer multiplier is proven to give the same outputs, the
    kernel computes the result of the double multiplication. Here no multiplier is proven for any layer."""
    monkeypatch.setattr(lowering, "proven_multipliers", lambda *_: None)
    assert_bit_exact("FULLY_CONNECTED", graphs=60, seed=7)


def test_unusual_layers_are_exact() -> None:
    half = Quantization((1.0,), (0,))
    models = [
        # Every odd sum is halfway between two outputs, with both signs.
        fully_connected(3, 4, in_scale=0.5, weight_scales=(1.0,), out_quant=half, weights=np.eye(4, 3)),
        fully_connected(3, 3, in_scale=0.5, weight_scales=(1.0, 0.5, 3.0), out_quant=half, weights=np.eye(3)),
        # The scale is 1/6, which no double represents exactly. Some outputs are ties.
        fully_connected(
            3, 3, in_scale=0.5, weight_scales=(1.0,), out_quant=Quantization((3.0,), (0,)), weights=np.eye(3)
        ),
        fully_connected(20, 7, batches=5, weight_zero=-128, activation=1),
        fully_connected(20, 7, weight_zero=127, activation=3),
        fully_connected(33, 5, weight_scales=scales(5), activation=2, bias=False),
        fully_connected(1, 1),
        fully_connected(9, 4, out_quant=Quantization((1e9,), (3,))),  # every output becomes the zero point
        fully_connected(9, 4, in_scale=0.9, out_quant=Quantization((1e-3,), (0,))),  # a multiplier above 1
        fully_connected(50, 6, dtype="int16", in_scale=1e-4, weight_scales=scales(6)),
        fully_connected(50, 6, dtype="int16", in_scale=1e-4, bias_dtype="int32", quantized_bias_type=2),
        fully_connected(50, 6, dtype="int16", in_scale=1e-4, bias=False, activation=1),
    ]
    assert compare(models, seed=1, runs=10) == []


def test_a_layer_with_too_large_sums_scales_with_a_double() -> None:
    """The sums are so large (about 2^26) that the rounding error of a 31-bit multiplier changes an output. Successive
    outputs are 2^19 accumulator steps apart."""
    model = fully_connected(
        4096,
        12,
        weights=np.full((12, 4096), 127),
        weight_scales=scales(12, 0.008, 0.012),
        out_quant=Quantization((267.0,), (0,)),
    )
    assert [layer.call.kernel for layer in lower(model).calls if layer.call] == ["ar_fully_connected_s8_real"]
    assert compare([model], seed=1, runs=30) == []


def test_unsupported_fully_connected_layers_are_refused() -> None:
    model = fully_connected(8, 4)
    check_supported(model)
    int16_model = fully_connected(8, 4, dtype="int16", in_scale=1e-4)
    check_supported(int16_model)
    assert_refused(changed(model, 0, dtype="float32", quant=None), "operator 0 FULLY_CONNECTED", "float32")
    assert_refused(changed(model, 1, dtype="float32"), "float32")
    assert_refused(changed(model, 1, quant=None), "quantized")
    assert_refused(changed(model, 1, quant=Quantization(scales(4), (1,) * 4)), "zero point 0")
    assert_refused(changed(model, 1, quant=Quantization(scales(4), (0,) * 4, 1)), "axis 0")
    assert_refused(changed(model, 2, data=None), "bias must be constant")
    assert_refused(changed(model, 2, dtype="int64"), "int64")
    assert_refused(changed(model, 2, data=np.full(4, 2**31 - 1, np.int32)), "overflow")
    assert_refused(changed(int16_model, 2, dtype="int32"), "int32")
    assert_refused(changed(int16_model, 2, data=np.full(4, 2**53, np.int64)), "overflow")
    assert_refused(changed(model, -1, quant=Quantization((1e-9,), (0,))), "scale")
    assert_refused(with_options(model, weights_format=1), "shuffled")


def matmul(
    lhs: tuple[int, ...], rhs: tuple[int, ...], out: tuple[int, ...], *, dtype: str = "int8", **options: Any
) -> Model:
    """Return a model of one BATCH_MATMUL. ``lhs``, ``rhs`` and ``out`` are the shapes of the inputs and the output."""
    b = GraphBuilder()
    zero = 0 if dtype == "int16" else 5
    scale = 0.01 if dtype == "int8" else 1e-4
    x = b.input(lhs, dtype, Quantization((scale,), (zero,)))
    w = b.input(rhs, dtype, Quantization((scale,), (zero,)))
    y = b.tensor(out, dtype, Quantization((scale * (3 if dtype == "int8" else 9),), (zero,)))
    b.op("BATCH_MATMUL", [x, w], [y], "BatchMatMulOptions", 4, **options)
    return b.build()


def test_unusual_matmuls_are_exact() -> None:
    models = [
        matmul((2, 3), (3, 4), (2, 4)),
        matmul((1, 2, 3, 4, 5), (3, 1, 1, 5, 2), (3, 2, 3, 4, 2)),
        matmul((2, 3, 4), (4, 5), (2, 3, 5)),
        matmul((4, 5), (3, 2, 5, 6), (3, 2, 4, 6)),
        matmul((3, 5, 4), (3, 1, 5), (3, 4, 1), adj_x=True, adj_y=True),
        matmul((2, 1, 5, 4), (1, 3, 6, 5), (2, 3, 4, 6), adj_x=True, adj_y=True),
        matmul((2, 4, 5), (2, 6, 5), (2, 4, 6), dtype="int16", adj_y=True),
        matmul((1, 1), (1, 1), (1, 1)),
    ]
    assert compare(models, seed=1, runs=6) == []


def test_unsupported_matmuls_are_refused() -> None:
    model = matmul((2, 3), (3, 4), (2, 4))
    check_supported(model)
    int16_model = matmul((2, 3), (3, 4), (2, 4), dtype="int16")
    assert_refused(changed(model, 0, dtype="float32", quant=None), "operator 0 BATCH_MATMUL", "float32")
    assert_refused(changed(model, 1, dtype="int16", quant=Quantization((0.1,), (0,))), "int16")
    assert_refused(changed(model, 1, quant=Quantization(scales(4), (0,) * 4, 1)), "one scale")
    assert_refused(changed(model, -1, dtype="int32", quant=None), "int32")
    assert_refused(changed(int16_model, 1, dtype="int8", quant=Quantization((0.1,), (3,))), "zero point 0")
    assert_refused(changed(int16_model, -1, quant=Quantization((1e-12,), (0,))), "scale")
    assert_refused(matmul((2, 40000), (40000, 1), (2, 1)), "overflow")
    assert_refused(changed(model, 1, shape=(1, 1, 1, 1, 3, 4)), "2 to 5 dimensions")
