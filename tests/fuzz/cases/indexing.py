"""Random operators that select elements (GATHER, resizing, ARG_MAX, TOPK_V2), and CUMSUM."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.cases import case
from tests.fuzz.cases.movement import ANY, constant, like, signed, small
from tests.fuzz.graph_builder import GraphBuilder

#: The codes of index types in an operator's options, from LiteRT's TensorType.
INDEX_CODES = {"int32": 2, "int64": 4}


def indices(b: GraphBuilder, shape: tuple[int, ...], limits: np.ndarray | int) -> int:
    """Add a tensor of indices below ``limits`` and return it. The indices are constants, or an ARG_MAX computes them.

    If ``limits`` is an array, it has a limit for each index of the last axis.
    """
    rng = b.rng
    min_limit = int(np.min(limits, initial=8))  # at most 8, so that the input of an ARG_MAX is small
    if rng.random() < 0.5 or min_limit > 8:
        values = rng.integers(0, np.broadcast_to(limits, shape), shape)
        return b.const(values, str(rng.choice(["int32", "int64", "int16"])))
    dtype = str(rng.choice(["int32", "int64"]))
    x = b.input((*shape, min_limit), "int8", b.quant())
    y = b.tensor(shape, dtype)
    axis = b.const(signed(b, len(shape), len(shape) + 1), "int32")
    b.op("ARG_MAX", [x, axis], [y], "ArgMaxOptions", version=2, output_type=INDEX_CODES[dtype])
    return y


@case("GATHER")
def gather(b: GraphBuilder) -> None:
    rng = b.rng
    x = small(b, b.pick(ANY, [1, 2, 3, 4]), 4)
    shape = b[x].shape
    axis = int(rng.integers(0, len(shape)))
    batch = int(rng.integers(0, axis + 1)) if rng.random() < 0.4 else 0
    tail = tuple(int(v) for v in rng.integers(1, 4, int(rng.integers(0, 3))))
    index_shape = (*shape[:batch], *tail)
    i = indices(b, index_shape, shape[axis])
    y = like(b, x, (*shape[:axis], *tail, *shape[axis + 1 :]))
    batch_dims = batch - len(index_shape) if tail and rng.random() < 0.2 else batch
    options: dict[str, Any] = {"axis": signed(b, axis, len(shape)), "batch_dims": batch_dims}
    b.op("GATHER", [x, i], [y], "GatherOptions", version=7, **options)


@case("GATHER_ND")
def gather_nd(b: GraphBuilder) -> None:
    rng = b.rng
    x = small(b, b.pick(ANY, [1, 2, 3, 4]), 6)
    shape = b[x].shape
    depth = int(rng.integers(1, len(shape) + 1))
    lead = tuple(int(v) for v in rng.integers(1, 4, int(rng.integers(0, 3))))
    i = indices(b, (*lead, depth), np.array(shape[:depth]))
    b.op("GATHER_ND", [x, i], [like(b, x, (*lead, *shape[depth:]))], "GatherNdOptions", version=5)


@case("ONE_HOT")
def one_hot(b: GraphBuilder) -> None:
    rng = b.rng
    shape = b.shape(int(rng.integers(0, 4)), 5)
    depth = int(rng.integers(1, 8))
    i = indices(b, shape, int(rng.integers(1, depth + 3)))
    if b[i].dtype == "int16":
        i = b.const(b[i].data, "int32")
    if rng.random() < 0.2:
        i = b.const(rng.integers(-2, depth + 2, shape), "int64")
    dtype = str(rng.choice(["int8", "int32", "int64", "bool", "float32"]))
    quant = b.quant(dtype) if dtype == "int8" else None
    axis = int(rng.integers(-1, len(shape) + 1))
    at = len(shape) if axis == -1 else axis
    y = b.tensor((*shape[:at], depth, *shape[at:]), dtype, quant)
    on = constant(b, (), y) if rng.random() < 0.5 else b.input((), dtype, quant)
    b.op("ONE_HOT", [i, b.const(depth, "int32"), on, constant(b, (), y)], [y], "OneHotOptions", axis=axis)


def resize_shape(b: GraphBuilder, x: int) -> list[int]:
    """Return a random height and width for a resized ``x``, often twice those of ``x``."""
    n, h, w, c = b[x].shape
    out = [int(v) for v in b.rng.integers(1, 17, 2)]
    if b.rng.random() < 0.4:
        out = [2 * h, 2 * w]
    while n * out[0] * out[1] * c > b.max_elements:
        out = [-(-v // 2) for v in out]
    return out


@case("RESIZE_BILINEAR")
def resize_bilinear(b: GraphBuilder) -> None:
    x = b.pick(("int8", "int16"), 4)
    size = resize_shape(b, x)
    n, _, _, c = b[x].shape
    flags = [(False, False), (True, False), (False, True)][int(b.rng.integers(0, 3))]
    options: dict[str, Any] = {"align_corners": flags[0], "half_pixel_centers": flags[1]}
    inputs = [x, b.const(size, "int32")]
    b.op(
        "RESIZE_BILINEAR", inputs, [like(b, x, (n, *size, c))], "ResizeBilinearOptions", version=3, **options
    )


@case("RESIZE_NEAREST_NEIGHBOR")
def resize_nearest(b: GraphBuilder) -> None:
    x = b.pick(("int8", "int8", "int16", "int32", "float32"), 4)
    size = resize_shape(b, x)
    n, _, _, c = b[x].shape
    options: dict[str, Any] = {
        name: bool(b.rng.integers(0, 2)) for name in ("align_corners", "half_pixel_centers")
    }
    y = like(b, x, (n, *size, c))
    inputs = [x, b.const(size, "int32")]
    b.op("RESIZE_NEAREST_NEIGHBOR", inputs, [y], "ResizeNearestNeighborOptions", version=4, **options)


def arg(b: GraphBuilder, name: str, options: str) -> None:
    """Append an ARG_MAX or ARG_MIN over a random axis."""
    x = b.pick(("int8", "int8", "int32", "bool"), [1, 2, 3, 4, 5])
    shape = b[x].shape
    axis = int(b.rng.integers(0, len(shape)))
    dtype = str(b.rng.choice(["int32", "int64"]))
    y = b.tensor((*shape[:axis], *shape[axis + 1 :]), dtype)
    axis_tensor = b.const(signed(b, axis, len(shape)), str(b.rng.choice(["int32", "int64"])))
    b.op(name, [x, axis_tensor], [y], options, version=2, output_type=INDEX_CODES[dtype])


@case("ARG_MAX")
def arg_max(b: GraphBuilder) -> None:
    arg(b, "ARG_MAX", "ArgMaxOptions")


@case("ARG_MIN")
def arg_min(b: GraphBuilder) -> None:
    arg(b, "ARG_MIN", "ArgMinOptions")


@case("TOPK_V2")
def topk(b: GraphBuilder) -> None:
    x = b.pick(("int8", "int8", "int16", "int32"), [1, 2, 3, 4])
    shape = b[x].shape
    k = int(b.rng.integers(1, shape[-1] + 1))
    values = like(b, x, (*shape[:-1], k))
    positions = b.tensor((*shape[:-1], k), str(b.rng.choice(["int32", "int32", "int16"])))
    k_tensor = b.const(k, str(b.rng.choice(["int32", "int32", "int16"])))
    b.op("TOPK_V2", [x, k_tensor], [values, positions], "TopKV2Options", version=3)


@case("CUMSUM")
def cumsum(b: GraphBuilder) -> None:
    x = b.pick(("int32", "int64"), [1, 2, 3, 4, 5])
    shape = b[x].shape
    axis = b.const(signed(b, int(b.rng.integers(0, len(shape))), len(shape)), "int32")
    options: dict[str, Any] = {name: bool(b.rng.integers(0, 2)) for name in ("exclusive", "reverse")}
    b.op("CUMSUM", [x, axis], [like(b, x, shape)], "CumsumOptions", version=1, **options)
