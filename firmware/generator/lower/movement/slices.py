"""Lower SLICE, STRIDED_SLICE, SPLIT, SPLIT_V and UNPACK, which return parts of a tensor, to kernel calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import refuse, register
from arenite.firmware.generator.lower.movement.movement import Movement, ViewPair, same_quant
from arenite.firmware.generator.lower.movement.rearrange import axis_of, integers


@register
class Slice(Movement):
    op_name = "SLICE"
    supports = "any type; constant begin and size"

    def check_values(self, graph: Subgraph, op: Op) -> None:
        integers(graph, op, 1, "the begin")
        integers(graph, op, 2, "the size")

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        begin, size = integers(graph, op, 1, "the begin"), integers(graph, op, 2, "the size")
        cut = []
        for d, b, s in zip(ins[0].shape, begin, size, strict=True):
            end = d if s == -1 else b + s
            if not 0 <= b <= end <= d:
                raise ValueError(f"begin {b} and size {s} reach beyond a dimension of {d}")
            cut.append(slice(b, end))
        return [(ins[0][tuple(cut)], outs[0])]


def _clamp(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


def strided_cut(op: Op, shape: tuple[int, ...], spec: list[tuple[int, int, int]]) -> tuple[Any, ...]:
    """Return a NumPy index for STRIDED_SLICE on ``shape``. ``spec`` holds begin, end and stride per specified axis.

    LiteRT's order of precedence applies: an ellipsis, then a new axis, then a shrunken axis
    (``BuildStridedSliceParams`` of strided_slice.cc). A begin outside of the dimension is clamped, also on a shrunken
    axis.
    """
    masks = {
        name: int(op.options[f"{name}_mask"])
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }

    def has(name: str, i: int) -> bool:
        return bool(masks[name] >> i & 1)

    added = sum(has("new_axis", i) and not has("ellipsis", i) for i in range(len(spec)))
    missing = len(shape) + added - len(spec)
    cut: list[Any] = []
    axis = 0
    has_ellipsis = False
    for i, (begin, end, stride) in enumerate(spec):
        if has("ellipsis", i):
            if has_ellipsis:
                raise ValueError("there are two ellipses")
            has_ellipsis = True
            cut += [slice(None)] * (missing + 1)
            axis += missing + 1
            continue
        if has("new_axis", i):
            cut.append(np.newaxis)
            continue
        size = shape[axis]
        axis += 1
        if stride == 0:
            raise ValueError("a stride is 0")
        low, high = (0, size) if stride > 0 else (-1, size - 1)
        start = _clamp(begin + size if begin < 0 else begin, low, high)
        if has("begin", i):
            start = 0 if stride > 0 else size - 1
        if has("shrink_axis", i):
            if not 0 <= start < size:
                raise ValueError(f"index {begin} is outside of a dimension of {size}")
            cut.append(start)
            continue
        if op.options.get("offset"):
            end += start
        stop = _clamp(end + size if end < 0 else end, low, high)
        if has("end", i):
            stop = size if stride > 0 else -1
        cut.append(slice(start, None if stop < 0 else stop, stride) if start != -1 else slice(0, 0))
    if axis > len(shape):
        raise ValueError("there are more indices than dimensions")
    return tuple(cut)


@register
class StridedSlice(Movement):
    op_name = "STRIDED_SLICE"
    supports = "any type; constant begin, end and strides (negative too), every mask"

    def check_values(self, graph: Subgraph, op: Op) -> None:
        for position, name in ((1, "the begin"), (2, "the end"), (3, "the strides")):
            integers(graph, op, position, name)

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        begin, end, strides = (integers(graph, op, k, "an index") for k in (1, 2, 3))
        cut = strided_cut(op, ins[0].shape, list(zip(begin, end, strides, strict=True)))
        view = ins[0][cut]
        if not isinstance(view, np.ndarray):  # NumPy returns a single element by value, so take a view of it
            view = ins[0][tuple(slice(c, c + 1) if isinstance(c, int) else c for c in cut)].reshape(())
        return [(view, outs[0])]


class SplitLike(Movement):
    """An operator that divides one input into several outputs along an axis."""

    dtypes = ("int8", "uint8", "int16", "int32", "int64", "float32")

    def cut(self, ins: np.ndarray, outs: list[np.ndarray], axis: int, sizes: list[int]) -> list[ViewPair]:
        """Return (part of ``ins``, output) pairs. ``sizes`` are the sizes of the parts along ``axis``."""
        if sum(sizes) != ins.shape[axis] or len(sizes) != len(outs):
            raise ValueError(f"parts of {sizes} do not add up to {ins.shape[axis]}")
        pairs, start = [], 0
        for size, out in zip(sizes, outs, strict=True):
            pairs.append((ins[(slice(None),) * axis + (slice(start, start + size),)], out))
            start += size
        return pairs


@register
class Split(SplitLike):
    op_name = "SPLIT"
    supports = "int8, int16, int32, int64, float32; constant axis"
    moved = (1,)

    def check_values(self, graph: Subgraph, op: Op) -> None:
        integers(graph, op, 0, "the axis")

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        (axis,) = integers(graph, op, 0, "the axis")
        axis = axis_of(op, axis, ins[1].ndim)
        return self.cut(ins[1], outs, axis, [ins[1].shape[axis] // len(outs)] * len(outs))


@register
class SplitV(SplitLike):
    op_name = "SPLIT_V"
    supports = "int8, int16, int32, int64, float32; constant sizes and axis"

    def check_values(self, graph: Subgraph, op: Op) -> None:
        integers(graph, op, 1, "the sizes")
        integers(graph, op, 2, "the axis")

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        sizes, (axis,) = integers(graph, op, 1, "the sizes"), integers(graph, op, 2, "the axis")
        axis = axis_of(op, axis, ins[0].ndim)
        if sizes.count(-1) > 1 or min(sizes, default=0) < -1:
            raise refuse(op, None, f"sizes {sizes} are ambiguous", "Give every size.")
        rest = ins[0].shape[axis] - sum(s for s in sizes if s >= 0)
        return self.cut(ins[0], outs, axis, [rest if s == -1 else s for s in sizes])


@register
class Unpack(Movement):
    op_name = "UNPACK"
    supports = "int8, int16, int32, bool, float32"
    dtypes = ("int8", "uint8", "int16", "int32", "bool", "float32")

    def check_values(self, graph: Subgraph, op: Op) -> None:
        for i in op.outputs:
            same_quant(op, graph.tensors[op.inputs[0]], graph.tensors[i])

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        axis = axis_of(op, int(op.options["axis"]), ins[0].ndim)
        if ins[0].shape[axis] != len(outs):
            raise ValueError(f"{len(outs)} outputs for {ins[0].shape[axis]} parts")
        lead = (slice(None),) * axis
        return [(ins[0][(*lead, slice(k, k + 1))].squeeze(axis), out) for k, out in enumerate(outs)]
