"""The base class of operators that only move elements. It turns views of NumPy arrays into strided copies.

An operator describes its copies as pairs of array views, source and target. The arrays represent the
tensors: only their shapes and strides are used, not their contents.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from arenite.converters.graph.model import DTYPES, Op, Subgraph, Tensor
from arenite.firmware.generator.lower.core.lowering import (
    Expr,
    KernelCall,
    LowerContext,
    Lowering,
    StructArray,
    refuse,
    require_accepted,
    require_dtype,
)

#: The largest number of dimensions of a strided copy: AR_COPY_DIMS in strided_copy.h.
MAX_DIMS = 8

ANY_TYPE = ("int8", "int16", "int32", "int64", "uint8", "bool", "float32")

#: The source and the target of one copy, two views of the same shape.
ViewPair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class StridedCopy:
    """One strided copy, as in ``ar_copy_piece``. Offsets and strides are in bytes."""

    source: np.ndarray  # the array that owns the memory of the source view
    target: np.ndarray
    in_offset: int
    out_offset: int
    dims: tuple[tuple[int, int, int], ...]  # (count, in stride, out stride), innermost first
    run: int

    @property
    def in_order(self) -> bool:
        """Whether the copy never overwrites an unread input byte when both arrays start at the same address."""
        extent_in = extent_out = self.run
        for count, step_in, step_out in self.dims:
            if step_in < max(extent_in, step_out) or step_out < extent_out:
                return False
            extent_in, extent_out = (
                (count - 1) * step + e for step, e in ((step_in, extent_in), (step_out, extent_out))
            )
        return self.in_offset >= self.out_offset


def root(view: np.ndarray) -> np.ndarray:
    """Return the array that owns the memory of ``view``."""
    owner: Any = view
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    return cast(np.ndarray, owner)


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def view_copy(source: np.ndarray, target: np.ndarray) -> StridedCopy | None:
    """Return the copy of ``source`` to ``target`` with as few dimensions as possible; None if there is nothing to copy.

    Raises ``ValueError`` if the shapes differ.
    """
    if source.shape != target.shape:
        raise ValueError(f"{list(source.shape)} elements do not fill {list(target.shape)}")
    if source.size == 0:
        return None
    dimensions = [
        (n, a, b) for n, a, b in zip(source.shape, source.strides, target.strides, strict=True) if n != 1
    ]
    dimensions.sort(key=lambda d: abs(d[2]))
    run = source.itemsize
    dims: list[tuple[int, int, int]] = []
    for n, a, b in dimensions:
        if not dims and a == b == run:
            run *= n
        elif dims and a == dims[-1][0] * dims[-1][1] and b == dims[-1][0] * dims[-1][2]:
            dims[-1] = (dims[-1][0] * n, dims[-1][1], dims[-1][2])
        else:
            dims.append((n, a, b))
    owner_in, owner_out = root(source), root(target)
    return StridedCopy(
        owner_in,
        owner_out,
        _address(source) - _address(owner_in),
        _address(target) - _address(owner_out),
        tuple(dims),
        run,
    )


def placeholder(tensor: Tensor) -> np.ndarray:
    """Return an array of the tensor's shape and element size. Its memory is never read or written."""
    dtype = require_accepted(DTYPES[tensor.dtype])
    return np.empty(tensor.shape, f"V{dtype.itemsize}")


def filled(shape: Sequence[int], value: int | float, dtype: str) -> np.ndarray:
    """Return an array of this shape in which every element is ``value``. It is the source of copies that
    read no input."""
    return np.broadcast_to(np.array([value], DTYPES[dtype]), shape)


def same_quant(op: Op, a: Tensor, b: Tensor) -> None:
    """Raise ``UnsupportedModelError`` if ``a`` and ``b`` are quantized differently, so that a moved integer would
    change its meaning."""
    if a.dtype not in ("int8", "uint8", "int16"):
        return
    left, right = (((1.0,), (0,)) if t.quant is None else (t.quant.scale, t.quant.zero_point) for t in (a, b))
    if left != right:
        raise refuse(
            op,
            b,
            f"its scale and zero point differ from those of tensor {a.index}",
            "Put a QUANTIZE between them.",
        )


class Movement(Lowering):
    """An operator that moves elements. A subclass implements ``pairs``. ``check`` refuses shapes that do not fit."""

    kernels = ("copy.c", "strided_copy.c")
    dtypes: ClassVar[Sequence[str]] = ANY_TYPE
    #: Positions of the inputs whose elements are moved; None for all inputs. The other inputs are arguments.
    moved: ClassVar[Sequence[int] | None] = (0,)

    @abstractmethod
    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        """Return (source, target) pairs of views in the order in which they must be copied.

        A source is a view of ``ins`` or a constant, a target is a view of ``outs``.

        Raises ``ValueError`` or ``IndexError`` if the shapes do not fit together.
        """

    def check(self, graph: Subgraph, op: Op) -> None:
        for i in self._moved(op):
            require_dtype(op, graph.tensors[i], self.dtypes)
        first = graph.tensors[self._moved(op)[0]]
        for i in (*self._moved(op), *op.outputs):
            require_dtype(op, graph.tensors[i], (first.dtype,))
        self.check_values(graph, op)
        for p in self.pieces(graph, op)[0]:
            if len(p.dims) > MAX_DIMS:
                raise refuse(
                    op, first, f"needs more than {MAX_DIMS} dimensions", "Split it into two operators."
                )

    def check_values(self, graph: Subgraph, op: Op) -> None:
        """Raise ``UnsupportedModelError`` for arguments that are not constant, and for quantization that LiteRT
        rejects."""

    def _moved(self, op: Op) -> list[int]:
        return [i for k, i in enumerate(op.inputs) if self.moved is None or k in self.moved]

    def pieces(
        self, graph: Subgraph, op: Op
    ) -> tuple[list[StridedCopy], list[np.ndarray | None], list[np.ndarray]]:
        """Return (copies, arrays that represent the inputs, arrays that represent the outputs). The array of an input
        that is not moved is None."""
        moved = set(self._moved(op))
        try:
            ins = [placeholder(graph.tensors[i]) if i in moved else None for i in op.inputs]
            outs = [placeholder(graph.tensors[i]) for i in op.outputs]
            pairs = self.pairs(graph, op, ins, outs)  # type: ignore[arg-type]
            strided_copies = [p for source, target in pairs if (p := view_copy(source, target)) is not None]
        except (ValueError, IndexError, OverflowError, MemoryError) as error:
            out = graph.tensors[op.outputs[0]]
            raise refuse(op, out, f"the shapes do not fit: {error}", "Export the model again.") from error
        return strided_copies, ins, outs

    def _sole(self, graph: Subgraph, op: Op) -> tuple[int, StridedCopy] | None:
        """Return (input position, copy) if one copy moves one input to the only output, otherwise None."""
        strided_copies, ins, outs = self.pieces(graph, op)
        if len(strided_copies) != 1 or len(outs) != 1:
            return None
        position = next((k for k, a in enumerate(ins) if a is strided_copies[0].source), None)
        return None if position is None else (position, strided_copies[0])

    def alias(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        sole = self._sole(graph, op)
        if sole is None:
            return ()
        position, p = sole
        is_identity = (
            not p.dims and p.in_offset == p.out_offset == 0 and p.run == p.target.nbytes == p.source.nbytes
        )
        return ((position, 0),) if is_identity else ()

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        sole = self._sole(graph, op)
        return ((sole[0], 0),) if sole is not None and sole[1].in_order else ()

    def lower(self, ctx: LowerContext) -> KernelCall | None:
        strided_copies, ins, outs = self.pieces(ctx.graph, ctx.op)
        if not strided_copies:
            return None
        pointers = {id(a): ctx.input_ptr(k) for k, a in enumerate(ins) if a is not None}
        pointers |= {id(a): ctx.output_ptr(k) for k, a in enumerate(outs)}

        def at(array: np.ndarray, offset: int) -> Expr:
            if id(array) in pointers:
                return Expr(pointers[id(array)].text, offset)
            assert array.dtype.kind != "V", "NumPy made a copy instead of a view"
            return Expr(ctx.table(array, "fill").text, offset)

        if len(strided_copies) == 1 and not strided_copies[0].dims:
            p = strided_copies[0]
            source, target = at(p.source, p.in_offset), at(p.target, p.out_offset)
            if source == target:
                return None
            fields = {"input": source, "output": target, "bytes": p.run}
            return KernelCall("ar_copy", "copy.h", ("copy.c",), "ar_copy_params", fields)
        rows = [
            {
                "input": at(p.source, p.in_offset),
                "output": at(p.target, p.out_offset),
                "dims": StructArray(
                    "ar_copy_dim",
                    [{"count": n, "in_stride": a, "out_stride": b} for n, a, b in (p.dims or ((1, 0, 0),))],
                ),
                "run": p.run,
                "rank": max(len(p.dims), 1),
            }
            for p in strided_copies
        ]
        return KernelCall(
            "ar_strided_copy",
            "strided_copy.h",
            ("strided_copy.c",),
            "ar_strided_copy_params",
            {"pieces": StructArray("ar_copy_piece", rows), "count": len(rows)},
        )
