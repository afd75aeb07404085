"""Compute the steps with which a kernel reads inputs of different shapes in the order of the output's elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Op, Tensor
from arenite.firmware.generator.lower.core.lowering import NULL, LowerContext, refuse

#: The largest number of dimensions outside a row: AR_BROADCAST_OUTER in engine/broadcast.h.
MAX_OUTER = 5


@dataclass(frozen=True)
class BroadcastSteps:
    """The order in which a kernel reads its inputs: row by row, with ``inner`` elements per row. ``outer`` has (size,
    steps) of the dimensions outside a row, fastest first.

    ``inner_step`` and each dimension's steps have one number per input, in elements. A dimension's step is the distance
    that the start of a row moves when the dimension advances and all faster dimensions start again.
    """

    inner: int
    inner_step: tuple[int, ...]
    outer: tuple[tuple[int, tuple[int, ...]], ...]


def broadcast_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Return the shape that ``shapes`` broadcast to by NumPy's rules; None if they do not broadcast."""
    try:
        return tuple(int(d) for d in np.broadcast_shapes(*shapes))
    except ValueError:
        return None


def broadcast_steps(shapes: Sequence[tuple[int, ...]]) -> BroadcastSteps:
    """Return the steps for inputs with these shapes. Neighboring dimensions are merged if every input allows it."""
    rank = max(len(s) for s in shapes)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    # Slowest first: the size of a dimension, and which inputs have it.
    merged: list[tuple[int, tuple[bool, ...]]] = []
    for dims in zip(*padded, strict=True):
        size = 0 if 0 in dims else max(dims)
        present = tuple(d == size for d in dims)
        if size == 1:
            continue
        if merged and merged[-1][1] == present:
            merged[-1] = (merged[-1][0] * size, present)
        else:
            merged.append((size, present))
    if any(size == 0 for size, _ in merged):
        return BroadcastSteps(0, (0,) * len(shapes), ())
    if not merged:
        return BroadcastSteps(1, (0,) * len(shapes), ())
    inner, has_inner = merged[-1]
    extent = [inner if p else 1 for p in has_inner]  # elements of each input below the current dimension
    rewind = [0] * len(shapes)  # distance that the faster outer dimensions have moved each input
    outer = []
    for size, present in reversed(merged[:-1]):
        strides = [e if p else 0 for e, p in zip(extent, present, strict=True)]
        outer.append((size, tuple(s - r for s, r in zip(strides, rewind, strict=True))))
        rewind = [r + (size - 1) * s for r, s in zip(rewind, strides, strict=True)]
        extent = [e * size if p else e for e, p in zip(extent, present, strict=True)]
    return BroadcastSteps(inner, tuple(int(p) for p in has_inner), tuple(outer))


def check_broadcast(op: Op, inputs: Sequence[Tensor], output: Tensor) -> None:
    """Raise ``UnsupportedModelError`` if shapes do not broadcast to the output's shape, or need too many separate
    dimensions."""
    shapes = [t.shape for t in inputs]
    if broadcast_shape(shapes) != output.shape:
        texts = ", ".join("x".join(map(str, s)) or "scalar" for s in shapes)
        raise refuse(
            op,
            output,
            f"shapes {texts} do not broadcast to {'x'.join(map(str, output.shape)) or 'scalar'}",
            "The model file contradicts itself. Export it again.",
        )
    if len(broadcast_steps(shapes).outer) > MAX_OUTER:
        raise refuse(
            op,
            output,
            "the inputs broadcast along more than 6 separate dimensions",
            "Reshape the inputs to fewer dimensions.",
        )


def broadcast_fields(
    ctx: LowerContext, shapes: Sequence[tuple[int, ...]], itemsizes: Sequence[int]
) -> dict[str, object]:
    """Return the fields of the ``ar_broadcast`` struct for two or three inputs with elements of ``itemsizes`` bytes."""
    merged = broadcast_steps(shapes)
    pad = 3 - len(shapes)
    rows = [
        [size, *(s * b for s, b in zip(steps, itemsizes, strict=True)), *[0] * pad]
        for size, steps in merged.outer
    ]
    return {
        "outer": ctx.table(np.array(rows, np.int32), "broadcast") if rows else NULL,
        "inner": merged.inner,
        "outer_count": len(rows),
        "inner_step": [*merged.inner_step, *[0] * pad],
    }


def in_place_inputs(inputs: Sequence[Tensor], output: Tensor) -> tuple[tuple[int, int], ...]:
    """Return (input position, 0) for each input that the output may overwrite: an input with the output's shape, and
    with its element size unless the output's elements are bytes."""
    return tuple(
        (k, 0)
        for k, t in enumerate(inputs)
        if t.shape == output.shape and (t.itemsize == output.itemsize or output.itemsize == 1)
    )
