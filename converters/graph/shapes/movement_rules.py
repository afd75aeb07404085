"""Shape rules of operators that move elements: reshaping, joining, cutting, padding, gathering, resizing.

Each rule returns the shapes of the operator's outputs. Source: the ``Prepare`` function of each of LiteRT's kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arenite.converters.graph.shapes.rule import (
    Shape,
    ShapeContext,
    ShapeProblem,
    UnknownShape,
    axis_of,
    broadcast,
    elements,
    require,
    require_rank,
    rule,
    single_value,
)


@rule("RESHAPE")
def reshape(s: ShapeContext) -> Sequence[Shape]:
    x, out = s.shape(0), s.outputs[0].shape
    try:
        new_shape: Sequence[int] = s.ints(1) if s.has_input(1) else s.option("new_shape", None) or ()
    except UnknownShape:
        new_shape = out
    if list(new_shape) == [0] and elements(x) == 1:  # old converters wrote the shape of a scalar this way
        new_shape = ()
    known_elements = elements(tuple(d for d in new_shape if d != -1))
    require(
        list(new_shape).count(-1) <= 1 and all(d >= -1 for d in new_shape),
        f"the new shape {list(new_shape)} is impossible",
    )
    if -1 in new_shape:
        require(
            known_elements > 0 and elements(x) % known_elements == 0,
            f"the input {list(x)} does not fit the new shape {list(new_shape)}",
        )
    target_shape = tuple(elements(x) // known_elements if d == -1 else d for d in new_shape)
    require(
        elements(target_shape) == elements(x),
        f"the input {list(x)} does not fit the new shape {list(new_shape)}",
    )
    return [target_shape]


@rule("SQUEEZE")
def squeeze(s: ShapeContext) -> Sequence[Shape]:
    x = s.shape(0)
    axes = {axis_of(a, len(x)) for a in s.option("squeeze_dims", None) or ()}
    require(all(x[a] == 1 for a in axes), f"the dimensions {sorted(axes)} of {list(x)} are not all 1")
    axes = axes or {i for i, d in enumerate(x) if d == 1}
    return [tuple(d for i, d in enumerate(x) if i not in axes)]


@rule("EXPAND_DIMS")
def expand_dims(s: ShapeContext) -> Sequence[Shape]:
    x = s.shape(0)
    axis = axis_of(single_value(s.ints(1), "the axis"), len(x) + 1)
    return [(*x[:axis], 1, *x[axis:])]


@rule("TRANSPOSE")
def transpose(s: ShapeContext) -> Sequence[Shape]:
    x = s.shape(0)
    order = [axis_of(a, len(x)) for a in s.ints(1)]
    require(sorted(order) == list(range(len(x))), f"{s.ints(1)} is not a permutation of {len(x)} dimensions")
    return [tuple(x[a] for a in order)]


@rule("CONCATENATION")
def concatenation(s: ShapeContext) -> Sequence[Shape]:
    shapes = [s.shape(i) for i in range(len(s.inputs))]
    first = shapes[0]
    axis = axis_of(s.option("axis"), len(first))
    for shape in shapes[1:]:
        same_other_sizes = shape[:axis] == first[:axis] and shape[axis + 1 :] == first[axis + 1 :]
        can_join = len(shape) == len(first) and same_other_sizes
        require(can_join, f"inputs {list(first)} and {list(shape)} differ in a dimension other than {axis}")
    return [(*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])]


@rule("PACK")
def pack(s: ShapeContext) -> Sequence[Shape]:
    shapes = {s.shape(i) for i in range(len(s.inputs))}
    require(len(shapes) == 1, "the inputs differ in shape")
    count = s.option("values_count")
    require(count == len(s.inputs), f"values_count is {count}, but there are {len(s.inputs)} inputs")
    x = shapes.pop()
    axis = axis_of(s.option("axis"), len(x) + 1)
    return [(*x[:axis], len(s.inputs), *x[axis:])]


@rule("UNPACK")
def unpack(s: ShapeContext) -> Sequence[Shape]:
    x = s.shape(0)
    axis = axis_of(s.option("axis"), len(x))
    require(s.option("num") == x[axis], f"num is {s.option('num')}, but the input {list(x)} has {x[axis]}")
    return [x[:axis] + x[axis + 1 :]] * x[axis]


@rule("SPLIT")
def split(s: ShapeContext) -> Sequence[Shape]:
    x, count = s.shape(1), s.option("num_splits")
    axis = axis_of(single_value(s.ints(0), "the axis"), len(x))
    require(count > 0 and x[axis] % count == 0, f"{x[axis]} does not divide into {count} parts")
    return [(*x[:axis], x[axis] // count, *x[axis + 1 :])] * count


@rule("SPLIT_V")
def split_v(s: ShapeContext) -> Sequence[Shape]:
    x, sizes = s.shape(0), s.ints(1)
    axis = axis_of(single_value(s.ints(2), "the axis"), len(x))
    if sizes.count(-1) == 1:
        rest = x[axis] - sum(d for d in sizes if d != -1)
        sizes = [rest if d == -1 else d for d in sizes]
    require(
        sum(sizes) == x[axis] and min(sizes, default=0) >= 0, f"the sizes {sizes} do not add up to {x[axis]}"
    )
    return [(*x[:axis], d, *x[axis + 1 :]) for d in sizes]


@rule("SLICE")
def slice_(s: ShapeContext) -> Sequence[Shape]:
    x, begin, size = s.shape(0), s.ints(1), s.ints(2)
    require(len(begin) == len(size) == len(x), f"begin and size do not have {len(x)} values")
    out = tuple(d - b if n == -1 else n for d, b, n in zip(x, begin, size, strict=True))
    inside = all(b >= 0 and n >= 0 and b + n <= d for d, b, n in zip(x, begin, out, strict=True))
    require(inside, f"begin {begin} and size {size} reach outside {list(x)}")
    return [out]


@rule("STRIDED_SLICE")
def strided_slice(s: ShapeContext) -> Sequence[Shape]:
    x, begin, end, strides = s.shape(0), s.ints(1), s.ints(2), s.ints(3)
    require(len(begin) == len(end) == len(strides), "begin, end and strides differ in length")
    require(all(strides), "a stride is 0")
    index: list[Any] = []
    for i, (b, e, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if s.option("ellipsis_mask") & bit:
            index.append(Ellipsis)
        elif s.option("new_axis_mask") & bit:
            index.append(None)
        elif s.option("shrink_axis_mask") & bit:
            index.append(b)
        else:
            if s.option("offset", False):
                e = b + e
            index.append(
                slice(
                    None if s.option("begin_mask") & bit else b,
                    None if s.option("end_mask") & bit else e,
                    step,
                )
            )
    # NumPy slices as TensorFlow does. The array takes one byte of memory, because all its strides are 0.
    array = np.broadcast_to(np.zeros((), np.uint8), x)
    try:
        return [array[tuple(index)].shape]
    except IndexError as error:
        raise ShapeProblem(f"the slice reaches outside {list(x)}") from error


@rule("GATHER")
def gather(s: ShapeContext) -> Sequence[Shape]:
    x, indices = s.shape(0), s.shape(1)
    axis = axis_of(s.option("axis"), len(x))
    batch = s.option("batch_dims")
    batch = batch + len(indices) if batch < 0 else batch
    require(
        0 <= batch <= min(axis, len(indices)) and x[:batch] == indices[:batch],
        f"batch_dims {batch} does not fit the inputs",
    )
    return [(*x[:axis], *indices[batch:], *x[axis + 1 :])]


@rule("GATHER_ND")
def gather_nd(s: ShapeContext) -> Sequence[Shape]:
    x, indices = s.shape(0), s.shape(1)
    require(
        bool(indices) and indices[-1] <= len(x),
        f"indices {list(indices)} have more coordinates than the input {list(x)}",
    )
    return [(*indices[:-1], *x[indices[-1] :])]


@rule("ONE_HOT")
def one_hot(s: ShapeContext) -> Sequence[Shape]:
    x, depth = s.shape(0), single_value(s.ints(1), "the depth")
    require(depth >= 0, f"the depth is {depth}")
    require(
        elements(s.shape(2)) == elements(s.shape(3)) == 1, "the on value or the off value is not a scalar"
    )
    axis = axis_of(s.option("axis", -1), len(x) + 1)
    return [(*x[:axis], depth, *x[axis:])]


@rule("TILE")
def tile(s: ShapeContext) -> Sequence[Shape]:
    x, times = s.shape(0), s.ints(1)
    require(len(times) == len(x) and min(times, default=0) >= 0, f"multiples {times} do not fit {list(x)}")
    return [tuple(d * n for d, n in zip(x, times, strict=True))]


@rule("FILL")
def fill(s: ShapeContext) -> Sequence[Shape]:
    require(elements(s.shape(1)) == 1, "the value is not a scalar")
    out = tuple(s.ints(0))
    require(min(out, default=0) >= 0, f"the shape {list(out)} has a negative dimension")
    return [out]


@rule("SHAPE")
def shape(s: ShapeContext) -> Sequence[Shape]:
    return [(len(s.shape(0)),)]


@rule("RANK")
def rank(s: ShapeContext) -> Sequence[Shape]:
    return [()]


@rule("BROADCAST_TO")
def broadcast_to(s: ShapeContext) -> Sequence[Shape]:
    x, out = s.shape(0), tuple(s.ints(1))
    require(min(out, default=0) >= 0 and len(out) >= len(x), f"the shape {list(out)} does not fit {list(x)}")
    require(broadcast(x, out) == out, f"{list(x)} does not broadcast to {list(out)}")
    return [out]


@rule("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(s: ShapeContext) -> Sequence[Shape]:
    x, size = s.shape(0), s.ints(1)
    require_rank(x, 4, "the input")
    require(len(size) == 2 and min(size) > 0 and min(x) > 0, f"the size {size} does not fit {list(x)}")
    return [(x[0], *size, x[3])]


@rule("DEPTH_TO_SPACE")
def depth_to_space(s: ShapeContext) -> Sequence[Shape]:
    x, block = s.shape(0), s.option("block_size")
    require_rank(x, 4, "the input")
    require(x[3] % (block * block) == 0, f"{x[3]} channels do not divide into blocks of {block}x{block}")
    return [(x[0], x[1] * block, x[2] * block, x[3] // (block * block))]


@rule("SPACE_TO_DEPTH")
def space_to_depth(s: ShapeContext) -> Sequence[Shape]:
    x, block = s.shape(0), s.option("block_size")
    require_rank(x, 4, "the input")
    require(
        x[1] % block == 0 and x[2] % block == 0, f"{list(x)} does not divide into blocks of {block}x{block}"
    )
    return [(x[0], x[1] // block, x[2] // block, x[3] * block * block)]


def _blocks(s: ShapeContext) -> tuple[Shape, list[int], list[tuple[int, int]]]:
    """Return the shape of the input, the block sizes, and the (before, after) padding or crop of each spatial
    dimension."""
    x, block, edges = s.shape(0), s.ints(1), s.ints(2)
    require(len(x) in (3, 4), f"the input {list(x)} needs 3 or 4 dimensions")
    require(len(block) == len(x) - 2 and min(block) > 0, f"the block {block} does not fit {list(x)}")
    require(len(edges) == 2 * len(block) and min(edges) >= 0, f"the edges {edges} do not fit {list(x)}")
    return x, block, [(edges[2 * i], edges[2 * i + 1]) for i in range(len(block))]


@rule("SPACE_TO_BATCH_ND")
def space_to_batch_nd(s: ShapeContext) -> Sequence[Shape]:
    x, block, pads = _blocks(s)
    inner = []
    for d, n, (before, after) in zip(x[1:-1], block, pads, strict=True):
        require(
            (d + before + after) % n == 0,
            f"{d} padded by {before} and {after} does not divide into blocks of {n}",
        )
        inner.append((d + before + after) // n)
    return [(x[0] * elements(tuple(block)), *inner, x[-1])]


@rule("BATCH_TO_SPACE_ND")
def batch_to_space_nd(s: ShapeContext) -> Sequence[Shape]:
    x, block, crops = _blocks(s)
    count = elements(tuple(block))
    require(x[0] % count == 0, f"a batch of {x[0]} does not divide into {count} blocks")
    inner = []
    for d, n, (before, after) in zip(x[1:-1], block, crops, strict=True):
        require(before + after <= d * n, f"crops {before} and {after} leave nothing of {d * n}")
        inner.append(d * n - before - after)
    return [(x[0] // count, *inner, x[-1])]


@rule("PAD", "PADV2", "MIRROR_PAD")
def pad(s: ShapeContext) -> Sequence[Shape]:
    x, pads = s.shape(0), s.ints(1)
    require(
        len(pads) == 2 * len(x) and min(pads, default=0) >= 0, f"the paddings {pads} do not fit {list(x)}"
    )
    if s.op.name == "MIRROR_PAD":
        # The mode REFLECT (0) does not repeat the value at the edge, the mode SYMMETRIC (1) does.
        reflect = 1 if s.option("mode") == 0 else 0
        limits = [d - reflect for d in x for _ in range(2)]
        require(
            all(p <= limit for p, limit in zip(pads, limits, strict=True)),
            f"the paddings {pads} mirror more than {list(x)} has",
        )
    return [tuple(d + pads[2 * i] + pads[2 * i + 1] for i, d in enumerate(x))]
