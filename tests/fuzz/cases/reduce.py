"""Random reduction operators."""

from __future__ import annotations

import numpy as np

from tests.fuzz.cases import case
from tests.fuzz.graph_builder import GraphBuilder, f32


def reduction(b: GraphBuilder, name: str, dtypes: tuple[str, ...], same_quant: bool = False) -> None:
    """Add a reduction over random axes. Some are negative or repeated, and sometimes there are none or all."""
    rng = b.rng
    x = b.pick(dtypes, [1, 2, 3, 4, 5])
    shape, dtype = b[x].shape, b[x].dtype
    if name == "REDUCE_PROD":
        if dtype == "int32" and b[x].quant is not None:
            x = b.input(shape, dtype)  # LiteRT refuses products of quantized int32
        elif dtype != "int32" and not 1e-6 < b[x].scale < 16:
            # With other scales, products of many elements would overflow float32.
            x = b.input(shape, dtype, b.quant(dtype))
    rank = len(shape)
    if rank == 4 and rng.random() < 0.3:
        axes = [1, 2]
    else:
        axes = [
            int(a)
            for a in rng.permutation(rank)[: int(rng.integers(0 if rng.random() < 0.1 else 1, rank + 1))]
        ]
    axis_values = [a - rank if rng.random() < 0.3 else a for a in axes]
    if axis_values and rng.random() < 0.1:
        axis_values.append(axes[0])
    keep = bool(rng.integers(0, 2))
    out_shape = tuple(1 if a in axes else d for a, d in enumerate(shape) if keep or a not in axes)
    count = int(np.prod([shape[a] for a in axes]))
    quant = None
    if dtype in ("int8", "int16"):
        quant = b[x].quant
        if not same_quant:
            scale = b[x].scale * float(np.exp(rng.uniform(-2, 2)))
            if name == "SUM":
                scale *= np.sqrt(count)
            elif name == "REDUCE_PROD":
                # With this scale, the product of typical stored values, 60 for int8 or 15000 for int16, has the stored
                # value 60, if float32 can represent the scale.
                typical = b[x].scale * (60 if dtype == "int8" else 15000)
                scale = float(np.exp(np.clip(count * np.log(typical), -60, 60))) / 60
            quant = b.quant(dtype, scale=f32(scale))
    y = b.tensor(out_shape, dtype, quant)
    version = 3 if dtype == "int16" and name != "REDUCE_PROD" else 2
    if name in ("SUM", "REDUCE_ANY", "REDUCE_ALL"):
        version = 1
    if axis_values and rng.random() < 0.1 and len(axis_values) == 1:
        axis = b.const(axis_values[0], "int32")
    else:
        axis = b.const(axis_values, "int32")
    b.op(name, [x, axis], [y], "ReducerOptions", version=version, keep_dims=keep)


@case("MEAN")
def mean(b: GraphBuilder) -> None:
    reduction(b, "MEAN", ("int8", "int8", "int16", "int32"))


@case("SUM")
def sum_(b: GraphBuilder) -> None:
    reduction(b, "SUM", ("int8", "int8", "int32"))


@case("REDUCE_PROD")
def prod(b: GraphBuilder) -> None:
    reduction(b, "REDUCE_PROD", ("int8", "int16", "int32"))


@case("REDUCE_MAX")
def maximum(b: GraphBuilder) -> None:
    reduction(b, "REDUCE_MAX", ("int8", "int8", "int16", "int32"), same_quant=True)


@case("REDUCE_MIN")
def minimum(b: GraphBuilder) -> None:
    reduction(b, "REDUCE_MIN", ("int8", "int8", "int16", "int32"), same_quant=True)


@case("REDUCE_ANY")
def any_(b: GraphBuilder) -> None:
    reduction(b, "REDUCE_ANY", ("bool",))


@case("REDUCE_ALL")
def all_(b: GraphBuilder) -> None:
    reduction(b, "REDUCE_ALL", ("bool",))
