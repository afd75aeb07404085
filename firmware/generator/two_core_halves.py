"""Create the two halves of a layer. Each half is a call of the layer's kernel with other parameters: for fewer rows,
for fewer pixels of an image of one row, or for fewer units.

The halves write disjoint bytes, and neither writes what the other reads. ``disjoint`` checks this against the plan; a
layer that does not pass runs on one core. Each half has its own scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.planner.plan import Plan
from arenite.firmware.generator.lower.core.lowering import KernelCall, arena_address
from arenite.firmware.generator.two_core_split import PIXELS, SPATIAL, LayerSplit, align_up, split_point

#: The number of rows that a kernel computes together, if it is more than one. The halves are multiples of it.
_ROWS = {"ar_conv_2d_s8_winograd_dsp": 2, "ar_conv_2d_s8_winograd_square_dsp": 2}


@dataclass(frozen=True)
class LayerHalf:
    """One half of a layer, ready to be lowered. In ``graph``, the operator's tensors are only the parts for this half.
    ``shift`` is the distance in bytes from a tensor's beginning to its part."""

    graph: Subgraph
    shift: Mapping[int, int] = field(default_factory=dict)


def layer_half(graph: Subgraph, op: Op, cut: LayerSplit, part: tuple[int, int]) -> LayerHalf:
    """Return the half of a layer for the rows or units ``part`` of ``cut``."""
    first, end = part
    if cut.kind == "alone":
        computed = [t for t in {*op.inputs, *op.outputs} if t >= 0 and graph.tensors[t].data is None]
        sizes = {t: graph.tensors[t].nbytes // cut.end for t in computed}
        tensors = {t: _with_axis(graph.tensors[t], 1, end - first) for t in computed}
        return LayerHalf(_with_tensors(graph, tensors), {t: first * n for t, n in sizes.items()})
    if cut.kind == "units":
        out = graph.tensors[op.outputs[0]]
        tensors = {out.index: _with_axis(out, len(out.shape) - 1, end - first)}
        for t in (op.inputs[1], op.input(2)):
            if t >= 0:
                tensors[t] = _constant_rows(graph.tensors[t], first, end)
        return LayerHalf(_with_tensors(graph, tensors), {out.index: first * out.itemsize})
    return LayerHalf(graph)


def _with_axis(tensor: Tensor, axis: int, count: int) -> Tensor:
    return replace(
        tensor, shape=(*tensor.shape[:axis], count, *tensor.shape[axis + 1 :]), shape_signature=None
    )


def _constant_rows(tensor: Tensor, first: int, end: int) -> Tensor:
    """Return rows [first, end) of a constant, with their scales."""
    assert tensor.data is not None
    quant = tensor.quant
    if quant is not None and quant.per_axis and quant.axis == 0:
        quant = replace(quant, scale=quant.scale[first:end], zero_point=quant.zero_point[first:end])
    data = np.ascontiguousarray(tensor.data[first:end])
    return replace(_with_axis(tensor, 0, end - first), data=data, quant=quant)


def _with_tensors(graph: Subgraph, tensors: Mapping[int, Tensor]) -> Subgraph:
    return replace(graph, tensors=tuple(tensors.get(t.index, t) for t in graph.tensors))


@dataclass(frozen=True)
class HalfCall:
    """A half in its final form: its call, the bytes [start, end) of the arena that it reads and writes, and its share
    of the layer's work."""

    call: KernelCall
    reads: tuple[tuple[int, int], ...]
    writes: tuple[tuple[int, int], ...]
    share: float


def disjoint(one: HalfCall, other: HalfCall) -> bool:
    """Return whether neither half writes a byte that the other reads or writes. Then they can run at the
    same time."""

    def apart(a: tuple[tuple[int, int], ...], b: tuple[tuple[int, int], ...]) -> bool:
        return all(x[1] <= y[0] or y[1] <= x[0] for x in a for y in b)

    return apart(one.writes, (*other.reads, *other.writes)) and apart(other.writes, one.reads)


def split_halves(
    graph: Subgraph,
    op: Op,
    cut: LayerSplit,
    plan: Plan,
    scratch: int,
    lower: Callable[[LayerHalf, int], KernelCall | None],
) -> tuple[HalfCall, HalfCall] | None:
    """Return both halves of ``op``; None if they would access each other's bytes, so that it runs on one core.

    ``scratch``: the bytes of a half's scratch. ``lower`` returns the call of a half; its second argument is the offset
    of the half's scratch in the operator's scratch.
    """
    half_calls = []
    for index, part in enumerate(cut.parts()):
        half = layer_half(graph, op, cut, part)
        at = index * align_up(scratch)
        call = lower(half, at)
        if call is None or call.before is not None:
            return None
        half_call = (
            _rows(call, index, graph, op, plan)
            if cut.kind == "rows"
            else _parts(call, half, op, plan, cut, part)
        )
        if half_call is None:
            return None
        if scratch:
            start = plan.scratch_offsets[op.index] + at
            half_call = replace(half_call, writes=(*half_call.writes, (start, start + scratch)))
        half_calls.append(half_call)
    return (half_calls[0], half_calls[1]) if disjoint(*half_calls) else None


def _parts(
    call: KernelCall, half: LayerHalf, op: Op, plan: Plan, cut: LayerSplit, part: tuple[int, int]
) -> HalfCall:
    """Return the half of a layer that is lowered with a graph of the tensors' parts."""
    tensors = half.graph.tensors
    reads = [_span(tensors[t], plan, half.shift) for t in op.inputs if t >= 0 and tensors[t].data is None]
    writes = (_span(tensors[op.outputs[0]], plan, half.shift),)
    return HalfCall(call, tuple(reads), writes, (part[1] - part[0]) / cut.end)


def _span(tensor: Tensor, plan: Plan, shift: Mapping[int, int]) -> tuple[int, int]:
    """Return the arena bytes [start, end) of a tensor's part."""
    start = plan.offsets[tensor.index] + shift.get(tensor.index, 0)
    return start, start + tensor.nbytes


def _rows(call: KernelCall, index: int, graph: Subgraph, op: Op, plan: Plan) -> HalfCall | None:
    """Return an image kernel's call for one half of the image: rows, or pixels of an image of one row."""
    inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    f: dict[str, Any] = dict(call.fields)
    if call.kernel not in SPATIAL or f["batches"] != 1:
        return None
    offsets = plan.offsets[inp.index], plan.offsets[out.index]
    if (f["input"], f["output"]) != (arena_address(offsets[0]), arena_address(offsets[1])):
        return None
    across = f["out_h"] < 2
    if across and (f["in_h"], f["out_h"]) != (1, 1):
        return None
    size, taps, pad, stride = (
        ("w", "k_w", "pad_left", "stride_w") if across else ("h", "k_h", "pad_top", "stride_h")
    )
    count = f[f"out_{size}"]
    at = split_point(count, PIXELS if across else _ROWS.get(call.kernel, 1))
    first, end = (0, at) if index == 0 else (at, count)
    if end <= first:
        return None
    # Bytes of an input and of an output row (or pixel).
    steps = inp.nbytes // f[f"in_{size}"], out.nbytes // count
    step = f.get(stride, f.get("stride", 1))
    # The half's windows reach from input row ``top`` (negative in the padding) to ``last``. It reads the rows from
    # ``skipped`` to ``below``, which are in the image.
    top = first * step - f[pad]
    skipped = max(top, 0)
    if skipped >= f[f"in_{size}"]:
        return None
    window = f.get(taps) or graph.tensors[op.inputs[1]].shape[2 if across else 1]
    last = (end - 1) * step - f[pad] + (window - 1) * f.get(f"dilation_{size}", 1) + 1
    below = min(max(last, skipped + 1), f[f"in_{size}"])
    starts = offsets[0] + skipped * steps[0], offsets[1] + first * steps[1]
    f |= {
        "input": arena_address(starts[0]),
        "output": arena_address(starts[1]),
        f"in_{size}": below - skipped,
        f"out_{size}": end - first,
        pad: skipped - top,
    }
    reads = ((starts[0], offsets[0] + below * steps[0]),)
    writes = ((starts[1], offsets[1] + end * steps[1]),)
    return HalfCall(replace(call, fields=f), reads, writes, (end - first) / count)
