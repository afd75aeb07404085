"""Random operators that only move elements."""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES
from tests.fuzz.cases import case
from tests.fuzz.graph_builder import GraphBuilder

#: Types of elements that an operator moves; int8 twice, so that it is more frequent.
ANY = ("int8", "int8", "int16", "int32", "int64", "bool", "float32")
NO_BOOL = tuple(d for d in ANY if d != "bool")


def like(b: GraphBuilder, x: int, shape: tuple[int, ...] | list[int]) -> int:
    """Add a tensor of ``shape`` with the type and quantization of ``x``, and return it."""
    return b.tensor(shape, b[x].dtype, b[x].quant)


def small(b: GraphBuilder, x: int, factor: float) -> int:
    """Return ``x`` if a tensor with ``factor`` times as many elements is allowed, else a smaller new input of the same
    rank and type."""
    if b[x].elements * factor <= b.max_elements:
        return x
    shape = tuple(min(d, 3) for d in b[x].shape)
    return b.input(shape, b[x].dtype, b[x].quant)


def constant(b: GraphBuilder, shape: tuple[int, ...], like_tensor: int) -> int:
    """Add a random constant with the type and quantization of ``like_tensor``, and return it."""
    t = b[like_tensor]
    high = 2 if t.dtype == "bool" else 100
    values = b.rng.integers(0 if t.dtype == "bool" else -100, high, shape)
    return b.const(values.astype(DTYPES[t.dtype]), t.dtype, t.quant)


def partner(b: GraphBuilder, shape: tuple[int, ...], x: int) -> int:
    """Return a tensor of ``shape`` quantized like ``x``: a constant, a new input, or an existing tensor."""
    if b.rng.random() < 0.2:
        return constant(b, shape, x)
    fitting = [
        t.index
        for t in b.tensors
        if t.data is None and t.shape == shape and t.dtype == b[x].dtype and t.quant == b[x].quant
    ]
    if fitting and b.rng.random() < 0.6:
        return int(b.rng.choice(fitting))
    return b.input(shape, b[x].dtype, b[x].quant)


def signed(b: GraphBuilder, axis: int, rank: int) -> int:
    """Return ``axis`` as it is, or counted from the end as a negative number."""
    return axis - rank if b.rng.random() < 0.4 else axis


def pads(b: GraphBuilder, limits: list[int]) -> np.ndarray:
    """Return random paddings of each dimension, [dimensions, 2] (before, after), up to its limit. Many are 0."""
    return np.array(
        [[int(b.rng.integers(0, m + 1)) if b.rng.random() < 0.5 else 0 for _ in range(2)] for m in limits]
    ).reshape(-1, 2)


def padding(b: GraphBuilder, name: str, options: str, more: Callable[[int], list[int]]) -> None:
    """Append the padding operator ``name``. ``more`` returns the inputs after the paddings, for an input tensor."""
    x = small(b, b.pick(ANY, [1, 2, 3, 4, 5]), 4)
    shape = b[x].shape
    p = pads(b, [3 if len(shape) < 4 else 2] * len(shape))
    if b.rng.random() < 0.25 and len(shape) == 4:
        p[[0, 3]] = 0  # LiteRT has separate code if only height and width are padded
    y = like(b, x, [int(d + lo + hi) for d, (lo, hi) in zip(shape, p, strict=True)])
    index_type = str(b.rng.choice(["int32", "int64"]))
    b.op(name, [x, b.const(p, index_type), *more(x)], [y], options, version=2)


@case("PAD")
def pad(b: GraphBuilder) -> None:
    padding(b, "PAD", "PadOptions", lambda x: [])


@case("PADV2")
def pad_v2(b: GraphBuilder) -> None:
    def value(x: int) -> list[int]:
        """Return the tensor of the padded value: a constant or a graph input."""
        return [constant(b, (), x) if b.rng.random() < 0.6 else b.input((), b[x].dtype, b[x].quant)]

    padding(b, "PADV2", "PadV2Options", value)


@case("MIRROR_PAD")
def mirror_pad(b: GraphBuilder) -> None:
    x = small(b, b.pick(ANY, [1, 2, 3, 4, 5]), 4)
    mode = int(b.rng.integers(0, 2))
    # Mode 0 (REFLECT) repeats at most d - 1 elements, because it leaves out the border; mode 1 (SYMMETRIC) repeats
    # up to d.
    limits = [min(d - (1 - mode), 4 if len(b[x].shape) < 4 else 2) for d in b[x].shape]
    p = pads(b, limits)
    y = like(b, x, [int(d + lo + hi) for d, (lo, hi) in zip(b[x].shape, p, strict=True)])
    index_type = str(b.rng.choice(["int32", "int64"]))
    b.op("MIRROR_PAD", [x, b.const(p, index_type)], [y], "MirrorPadOptions", version=2, mode=mode)


@case("TRANSPOSE")
def transpose(b: GraphBuilder) -> None:
    x = b.pick(ANY, [1, 2, 3, 4, 4, 5, 6])
    rank = len(b[x].shape)
    perm = [int(v) for v in b.rng.permutation(rank)]
    y = like(b, x, [b[x].shape[a] for a in perm])
    perm_tensor = b.const([signed(b, a, rank) for a in perm], "int32")
    b.op("TRANSPOSE", [x, perm_tensor], [y], "TransposeOptions", version=4)


@case("CONCATENATION")
def concatenation(b: GraphBuilder) -> None:
    x = small(b, b.pick(ANY, [1, 2, 3, 4, 5]), 5)
    shape = b[x].shape
    axis = int(b.rng.integers(0, len(shape)))
    inputs = [x]
    for _ in range(int(b.rng.integers(0, 5))):
        partner_shape = list(shape)
        if b.rng.random() < 0.6:
            partner_shape[axis] = int(b.rng.integers(1, shape[axis] + 1))
        inputs.append(partner(b, tuple(partner_shape), x))
    inputs = [inputs[int(k)] for k in b.rng.permutation(len(inputs))]
    out = list(shape)
    out[axis] = sum(b[i].shape[axis] for i in inputs)
    b.op(
        "CONCATENATION",
        inputs,
        [like(b, x, out)],
        "ConcatenationOptions",
        version=2 if b[x].dtype == "int8" else 3,
        axis=signed(b, axis, len(shape)),
    )


@case("SPLIT")
def split(b: GraphBuilder) -> None:
    x = b.pick(NO_BOOL, [1, 2, 3, 4, 5])
    shape = b[x].shape
    axis = int(b.rng.integers(0, len(shape)))
    number = int(b.rng.choice([k for k in range(1, shape[axis] + 1) if shape[axis] % k == 0]))
    part = [d // number if a == axis else d for a, d in enumerate(shape)]
    outs = [like(b, x, part) for _ in range(number)]
    axis_tensor = b.const(signed(b, axis, len(shape)), "int32")
    b.op("SPLIT", [axis_tensor, x], outs, "SplitOptions", version=4, num_splits=number)


@case("SPLIT_V")
def split_v(b: GraphBuilder) -> None:
    x = b.pick(NO_BOOL, [1, 2, 3, 4, 5])
    shape = b[x].shape
    axis = int(b.rng.integers(0, len(shape)))
    cuts = sorted(int(c) for c in b.rng.integers(0, shape[axis] + 1, int(b.rng.integers(0, 4))))
    sizes = [e - s for s, e in zip([0, *cuts], [*cuts, shape[axis]], strict=True)]
    sizes = [s for s in sizes if s] or [shape[axis]]
    outs = [like(b, x, [s if a == axis else d for a, d in enumerate(shape)]) for s in sizes]
    size_values = list(sizes)
    if b.rng.random() < 0.4:
        size_values[int(b.rng.integers(0, len(size_values)))] = -1
    index_type = str(b.rng.choice(["int32", "int64"]))
    axis_tensor = b.const(signed(b, axis, len(shape)), "int32")
    b.op(
        "SPLIT_V",
        [x, b.const(size_values, index_type), axis_tensor],
        outs,
        "SplitVOptions",
        version=2,
        num_splits=len(sizes),
    )


@case("SLICE")
def slice_(b: GraphBuilder) -> None:
    x = b.pick(ANY, [1, 2, 3, 4, 5, 6])
    begin = [int(b.rng.integers(0, d)) if b.rng.random() < 0.6 else 0 for d in b[x].shape]
    size = [
        int(b.rng.integers(1, d - s + 1)) if b.rng.random() < 0.6 else d - s
        for s, d in zip(begin, b[x].shape, strict=True)
    ]
    size_values = [
        -1 if s + n == d and b.rng.random() < 0.5 else n
        for s, n, d in zip(begin, size, b[x].shape, strict=True)
    ]
    index_type = str(b.rng.choice(["int32", "int64"]))
    inputs = [x, b.const(begin, index_type), b.const(size_values, index_type)]
    b.op("SLICE", inputs, [like(b, x, size)], "SliceOptions", version=3)


@case("STRIDED_SLICE")
def strided_slice(b: GraphBuilder) -> None:
    """Append a STRIDED_SLICE with any kind of mask. NumPy computes the shape of its output.

    ``spec`` has (begin, end, stride) of each entry, and ``index`` the same slice as an index of a NumPy array.
    ``tail`` is the number of entries after the ellipsis, and ``added`` the number of new axes.
    """
    rng = b.rng
    x = b.pick(ANY, [1, 2, 3, 4])
    shape = b[x].shape
    used = int(rng.integers(1, len(shape) + 1))
    ellipsis = int(rng.integers(0, used)) if rng.random() < 0.25 else None
    tail = 0 if ellipsis is None else used - 1 - ellipsis
    axes = (
        list(range(used))
        if ellipsis is None
        else [*range(ellipsis), None, *range(len(shape) - tail, len(shape))]
    )
    spec: list[tuple[int, int, int]] = []
    masks = dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    index: list[int | slice | EllipsisType | None] = []
    added = 0
    for axis in axes:
        if len(shape) + added < 5 and rng.random() < 0.1:
            masks["new_axis"] |= 1 << len(spec)
            spec.append((int(rng.integers(-3, 4)), int(rng.integers(-3, 4)), 1))
            index.append(None)
            added += 1
        bit = 1 << len(spec)
        if axis is None:
            masks["ellipsis"] |= bit
            spec.append((0, 0, 1))
            index.append(Ellipsis)
            continue
        d = shape[axis]
        if rng.random() < 0.2:
            at = int(rng.integers(-d, d))
            masks["shrink_axis"] |= bit
            spec.append((at, at + 1, 1))
            index.append(at)
            continue
        while True:
            stride = int(rng.choice([1, 1, 2, 3, -1, -2]))
            begin, end = (int(v) for v in rng.integers(-d - 2, d + 3, 2))
            no_begin, no_end = rng.random(2) < 0.3
            low, high = (0, d) if stride > 0 else (-1, d - 1)
            start, stop = (max(low, min(v + d if v < 0 else v, high)) for v in (begin, end))
            if no_begin:
                start = 0 if stride > 0 else d - 1
            if no_end:
                stop = d if stride > 0 else -1
            if len(range(start, stop, stride)):
                break
        masks["begin"] |= bit * int(no_begin)
        masks["end"] |= bit * int(no_end)
        spec.append((begin, end, stride))
        index.append(slice(start, None if stop < 0 else stop, stride))
    out = np.zeros(shape, np.int8)[tuple(index)].shape
    inputs = [x, *(b.const(column, "int32") for column in zip(*spec, strict=True))]
    options: dict[str, Any] = {f"{name}_mask": bits for name, bits in masks.items()}
    b.op("STRIDED_SLICE", inputs, [like(b, x, out)], "StridedSliceOptions", version=4, **options)


@case("PACK")
def pack(b: GraphBuilder) -> None:
    x = small(b, b.pick(NO_BOOL, [0, 1, 2, 3, 4]), 4)
    shape = b[x].shape
    axis = int(b.rng.integers(0, len(shape) + 1))
    inputs = [x, *(partner(b, shape, x) for _ in range(int(b.rng.integers(0, 4))))]
    y = like(b, x, (*shape[:axis], len(inputs), *shape[axis:]))
    axis_option = signed(b, axis, len(shape) + 1)
    b.op("PACK", inputs, [y], "PackOptions", version=3, values_count=len(inputs), axis=axis_option)


@case("UNPACK")
def unpack(b: GraphBuilder) -> None:
    x = b.pick(("int8", "int8", "int16", "int32", "bool", "float32"), [1, 2, 3, 4, 5])
    if max(b[x].shape) > 32:  # each output can be a graph output, and a graph has at most 255
        x = b.input((3, 4), "int8", b.quant("int8"))
    shape = b[x].shape
    axis = int(b.rng.integers(0, len(shape)))
    outs = [like(b, x, (*shape[:axis], *shape[axis + 1 :])) for _ in range(shape[axis])]
    axis_option = signed(b, axis, len(shape))
    b.op("UNPACK", [x], outs, "UnpackOptions", version=4, num=shape[axis], axis=axis_option)


@case("TILE")
def tile(b: GraphBuilder) -> None:
    x = small(b, b.pick(ANY, [1, 2, 3, 4, 5]), 8)
    while True:
        times = [int(v) for v in b.rng.choice([1, 1, 2, 3], len(b[x].shape))]
        if b[x].elements * np.prod(times) <= b.max_elements:
            break
    y = like(b, x, [d * t for d, t in zip(b[x].shape, times, strict=True)])
    b.op("TILE", [x, b.const(times, str(b.rng.choice(["int32", "int64"])))], [y], "TileOptions", version=1)


@case("FILL")
def fill(b: GraphBuilder) -> None:
    dtype = str(b.rng.choice(["int8", "int16", "int32", "int64", "bool", "float32"]))
    quant = b.quant(dtype) if dtype in ("int8", "int16") else None
    value = b.input((), dtype, quant)
    shape = b.shape(int(b.rng.integers(0, 5)))
    index_type = str(b.rng.choice(["int32", "int64"]))
    y = like(b, value, shape)
    b.op("FILL", [b.const(np.array(shape, np.int64), index_type), value], [y], "FillOptions", version=4)


@case("BROADCAST_TO")
def broadcast_to(b: GraphBuilder) -> None:
    x = small(b, b.pick(ANY, [1, 2, 3, 4]), 8)
    lead = [int(v) for v in b.rng.integers(1, 4, int(b.rng.integers(0, 3)))]
    out = [*lead, *(int(b.rng.integers(1, 5)) if d == 1 else d for d in b[x].shape)]
    if np.prod(out) > b.max_elements:
        return broadcast_to(b)
    index_type = str(b.rng.choice(["int32", "int64"]))
    b.op("BROADCAST_TO", [x, b.const(out, index_type)], [like(b, x, out)], "BroadcastToOptions", version=3)
    return None


@case("REVERSE_V2")
def reverse(b: GraphBuilder) -> None:
    x = b.pick(ANY, [1, 2, 3, 4, 5])
    rank = len(b[x].shape)
    axes = sorted(int(a) for a in b.rng.permutation(rank)[: int(b.rng.integers(1, rank + 1))])
    # LiteRT reverses one contiguous range of axes at a time.
    axes = list(range(axes[0], axes[0] + len(axes))) if axes[0] + len(axes) <= rank else axes[:1]
    axes_tensor = b.const([signed(b, a, rank) for a in axes], "int32")
    b.op("REVERSE_V2", [x, axes_tensor], [like(b, x, b[x].shape)], "ReverseV2Options", version=3)


def block_input(b: GraphBuilder, dtypes: tuple[str, ...], shape: tuple[int, ...]) -> int:
    """Add a graph input with ``shape`` and one of ``dtypes``, and return it."""
    dtype = str(b.rng.choice(list(dtypes)))
    return b.input(shape, dtype, b.quant(dtype) if dtype in ("int8", "int16") else None)


BLOCK_TYPES = ("int8", "int8", "int32", "int64", "float32")


@case("DEPTH_TO_SPACE")
def depth_to_space(b: GraphBuilder) -> None:
    n, h, w, c = b.shape(4, 6)
    k = int(b.rng.integers(1, 4))
    x = block_input(b, BLOCK_TYPES, (n, h, w, c * k * k))
    y = like(b, x, (n, h * k, w * k, c))
    b.op("DEPTH_TO_SPACE", [x], [y], "DepthToSpaceOptions", version=1, block_size=k)


@case("SPACE_TO_DEPTH")
def space_to_depth(b: GraphBuilder) -> None:
    n, h, w, c = b.shape(4, 6)
    k = int(b.rng.integers(1, 4))
    x = block_input(b, BLOCK_TYPES, (n, h * k, w * k, c))
    y = like(b, x, (n, h, w, c * k * k))
    b.op("SPACE_TO_DEPTH", [x], [y], "SpaceToDepthOptions", version=2, block_size=k)


def spatial_block(b: GraphBuilder) -> tuple[list[int], np.ndarray]:
    """Return the block shape and the paddings or crops of one or two spatial dimensions."""
    space = int(b.rng.choice([1, 2, 2]))
    return [int(v) for v in b.rng.integers(1, 4, space)], pads(b, [4] * space)


@case("SPACE_TO_BATCH_ND")
def space_to_batch(b: GraphBuilder) -> None:
    blocks, p = spatial_block(b)
    n, c = (int(v) for v in b.rng.integers(1, 4, 2))
    grid = [int(v) for v in b.rng.integers(1, 6, len(blocks))]
    image = []
    for k, (block, g) in enumerate(zip(blocks, grid, strict=True)):
        size = g * block - int(p[k].sum())
        if size < 1:
            p[k] = 0
            size = g * block
        image.append(size)
    x = block_input(b, ("int8", "int8", "int16", "int32", "int64", "float32"), (n, *image, c))
    y = like(b, x, (n * int(np.prod(blocks)), *grid, c))
    inputs = [x, b.const(blocks, "int32"), b.const(p, "int32")]
    b.op("SPACE_TO_BATCH_ND", inputs, [y], "SpaceToBatchNDOptions", version=3)


@case("BATCH_TO_SPACE_ND")
def batch_to_space(b: GraphBuilder) -> None:
    blocks, p = spatial_block(b)
    n, c = (int(v) for v in b.rng.integers(1, 4, 2))
    grid = [int(v) for v in b.rng.integers(1, 6, len(blocks))]
    image = []
    for k, (block, g) in enumerate(zip(blocks, grid, strict=True)):
        size = g * block - int(p[k].sum())
        if size < 1:
            p[k] = 0
            size = g * block
        image.append(size)
    shape = (n * int(np.prod(blocks)), *grid, c)
    x = block_input(b, ("int8", "int8", "int16", "int32", "int64", "float32"), shape)
    inputs = [x, b.const(blocks, "int32"), b.const(p, "int32")]
    b.op("BATCH_TO_SPACE_ND", inputs, [like(b, x, (n, *image, c))], "BatchToSpaceNDOptions", version=3)


@case("RESHAPE")
def reshape(b: GraphBuilder) -> None:
    x = b.pick(ANY, [0, 1, 2, 3, 4, 5])
    remaining, shape = b[x].elements, []
    while remaining > 1:
        shape.append(int(b.rng.choice([d for d in range(2, remaining + 1) if remaining % d == 0])))
        remaining //= shape[-1]
    if b.rng.random() < 0.3 or not shape:
        shape.insert(int(b.rng.integers(0, len(shape) + 1)), 1)
    new_shape = list(shape)
    if b.rng.random() < 0.5:
        new_shape[int(b.rng.integers(0, len(new_shape)))] = -1
    inputs = [x, b.const(new_shape, "int32")] if b.rng.random() < 0.7 else [x]
    b.op("RESHAPE", inputs, [like(b, x, shape)], "ReshapeOptions", new_shape=tuple(new_shape))


@case("SQUEEZE")
def squeeze(b: GraphBuilder) -> None:
    shape = [int(v) for v in b.rng.choice([1, 1, 2, 5], int(b.rng.integers(1, 6)))]
    dtype = str(b.rng.choice(ANY))
    x = b.input(shape, dtype, b.quant(dtype) if dtype in ("int8", "int16") else None)
    unit_axes = [k for k, d in enumerate(shape) if d == 1]
    removed = [k for k in unit_axes if b.rng.random() < 0.6]
    y = like(b, x, [d for k, d in enumerate(shape) if k not in (removed or unit_axes)])
    squeeze_dims = tuple(signed(b, k, len(shape)) for k in removed)
    b.op("SQUEEZE", [x], [y], "SqueezeOptions", version=1, squeeze_dims=squeeze_dims)


@case("EXPAND_DIMS")
def expand_dims(b: GraphBuilder) -> None:
    x = b.pick(ANY, [0, 1, 2, 3, 4])
    shape = b[x].shape
    axis = int(b.rng.integers(0, len(shape) + 1))
    axis_tensor = b.const(signed(b, axis, len(shape) + 1), str(b.rng.choice(["int32", "int64"])))
    y = like(b, x, (*shape[:axis], 1, *shape[axis:]))
    b.op("EXPAND_DIMS", [x, axis_tensor], [y], "ExpandDimsOptions", version=1)
