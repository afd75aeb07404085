"""Reductions give LiteRT's bytes, and unsupported reductions are refused."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.lower import LOWERINGS
from arenite.firmware.generator.operator_needs import check_supported
from tests.fuzz.comparison import compare
from tests.fuzz.fixed_graphs import assert_bit_exact
from tests.fuzz.graph_builder import GraphBuilder

REDUCTIONS = ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL")
S8 = Quantization((0.5,), (-3,))
S16 = Quantization((0.5,), (0,))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_random_graphs_are_exact(name: str) -> None:
    assert_bit_exact(name)


def reduction(
    name: str,
    shape: tuple[int, ...],
    axes: list[int],
    *,
    dtype: str = "int8",
    keep_dims: bool = False,
    quant: Quantization | None = S8,
    out_quant: Quantization | None = S8,
    version: int = 2,
) -> Model:
    """Return a model that reduces an input of the given shape over ``axes``."""
    b = GraphBuilder()
    x = b.input(shape, dtype, quant)
    positive = [a % len(shape) for a in axes]
    out = tuple(1 if a in positive else d for a, d in enumerate(shape) if keep_dims or a not in positive)
    y = b.tensor(out, dtype, out_quant)
    b.op(name, [x, b.const(axes, "int32")], [y], "ReducerOptions", version=version, keep_dims=keep_dims)
    return b.build()


def test_unusual_reductions_are_exact() -> None:
    small = Quantization((0.001,), (127,))
    models = [
        reduction("MEAN", (1, 96, 96, 3), [1, 2], out_quant=small),  # outputs saturate
        reduction("MEAN", (2, 7, 7, 5), [1, 2], keep_dims=True),
        reduction("MEAN", (2, 3, 4, 5), [-1, 0, -1]),
        reduction("MEAN", (3, 5), []),
        reduction("MEAN", (1, 1, 1), [0, 1, 2]),
        reduction("MEAN", (2, 3, 2, 3, 2, 3), [0, 2, 4]),
        reduction("MEAN", (2, 3, 2, 3, 2, 3), [1, 3, 5], keep_dims=True),
        reduction("SUM", (4, 100), [1], version=1),
        reduction("REDUCE_MAX", (2, 3, 2, 3, 2), [1, 3]),
        reduction("REDUCE_PROD", (4, 5), [0]),
        reduction("MEAN", (3, 4), [0], dtype="int32", quant=None, out_quant=None),
        reduction("REDUCE_PROD", (3, 40), [1], dtype="int32", quant=None, out_quant=None),
    ]
    assert compare(models, seed=1, runs=6) == []


def test_any_axes_are_safe_in_place() -> None:
    """A reduction whose outputs overwrite its inputs gives the same values as one with separate memory."""
    shape = (2, 3, 2, 4)
    values = np.random.default_rng(0).integers(-128, 128, shape)
    for mask in range(16):
        axes = [a for a in range(4) if mask >> a & 1]
        expected = values.max(axis=tuple(axes)).reshape(-1)
        position = np.moveaxis(np.arange(values.size).reshape(shape), axes, list(range(4 - len(axes), 4)))
        flat = values.reshape(-1).copy()
        for k, group in enumerate(position.reshape(expected.size, -1)):
            flat[k] = flat[group].max()
        assert np.array_equal(flat[: expected.size], expected), axes
    model = reduction("REDUCE_MAX", (2, 3, 4), [1])
    assert LOWERINGS["REDUCE_MAX"].in_place(model.main, model.main.ops[0]) == ((0, 0),)


def variable_axes() -> Model:
    """Return a model with a MEAN whose axes are an input."""
    b = GraphBuilder()
    x = b.input((2, 3), "int8", Quantization((0.5,), (0,)))
    axes = b.input((1,), "int32")
    y = b.tensor((2,), "int8", Quantization((0.5,), (0,)))
    b.op("MEAN", [x, axes], [y], "ReducerOptions", version=2, keep_dims=False)
    return b.build()


@pytest.mark.parametrize(
    ("model", "texts"),
    [
        (variable_axes(), ["MEAN", "axes must be constant"]),
        (reduction("MEAN", (2, 3), [2]), ["axis 2 is outside the 2 dimensions"]),
        (reduction("MEAN", (2, 3), [0], dtype="float32", quant=None, out_quant=None), ["float32"]),
        (reduction("MEAN", (2, 3), [0], quant=None), ["must be quantized"]),
        (reduction("MEAN", (2, 0), [0]), ["no elements"]),
        (reduction("MEAN", (2, 3), [0], dtype="int16"), ["zero point is -3"]),
        (reduction("SUM", (2, 3), [0], dtype="int16", quant=S16, out_quant=S16), ["SUM", "int16"]),
        (reduction("REDUCE_MIN", (2, 3), [0], out_quant=S16), ["differ from the input's"]),
        (reduction("REDUCE_ANY", (2, 3), [0]), ["int8", "bool"]),
        (reduction("REDUCE_PROD", (2, 3), [0], dtype="int32", out_quant=None), ["int32 values with a scale"]),
        (reduction("REDUCE_PROD", (2, 3), [0], quant=Quantization((1e6,), (0,))), ["too far"]),
        (reduction("MEAN", (2,) * 10, [0, 2, 4, 6, 8]), ["alternate more than 7 times"]),
    ],
)
def test_the_error_of_an_unsupported_reduction_gives_the_reason(model: Model, texts: list[str]) -> None:
    with pytest.raises(UnsupportedModelError) as caught:
        check_supported(model)
    for text in ["operator 0", *texts]:
        assert text in str(caught.value)
