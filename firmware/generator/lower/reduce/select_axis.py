"""Lower ARG_MAX, ARG_MIN, TOPK_V2 and CUMSUM, which work along one axis, to kernel calls."""

from __future__ import annotations

import math
from typing import ClassVar

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import (
    Expr,
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_dtype,
)
from arenite.firmware.generator.lower.movement.rearrange import axis_of, integers


def axis_split(graph: Subgraph, op: Op) -> tuple[int, dict[str, int]]:
    """Return the constant axis in input 1, and the sizes of input 0 as [outer][axis][inner]."""
    x = graph.tensors[op.inputs[0]]
    axes = integers(graph, op, 1, "the axis")
    if len(axes) != 1 or not x.shape or not x.elements:
        raise refuse(
            op, x, f"cannot be processed along the axes {axes}", "Give one axis of a tensor with elements."
        )
    axis = axis_of(op, axes[0], len(x.shape))
    return axis, {
        "outer": math.prod(x.shape[:axis]),
        "axis": x.shape[axis],
        "inner": math.prod(x.shape[axis + 1 :]),
    }


class Arg(Lowering):
    """The base class of ARG_MAX and ARG_MIN."""

    supports = "int8, int32, bool; constant axis; the first of equal values"
    smallest: ClassVar[int]

    def check(self, graph: Subgraph, op: Op) -> None:
        x, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        require_dtype(op, x, ("int8", "uint8", "int32", "bool"))
        require_dtype(op, out, ("int32", "int64"))
        axis, _ = axis_split(graph, op)
        expected = (*x.shape[:axis], *x.shape[axis + 1 :])
        if out.shape != expected:
            raise refuse(
                op,
                out,
                f"shape {list(out.shape)}, expected {list(expected)}",
                "Export the model again, because its shapes do not agree.",
            )

    def lower(self, ctx: LowerContext) -> KernelCall:
        x, out = ctx.input_tensor(0), ctx.output()
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            **axis_split(ctx.graph, ctx.op)[1],
            "type": Expr(f"AR_{x.dtype.upper()}"),
            "index_bytes": out.itemsize,
            "smallest": self.smallest,
        }
        return KernelCall("ar_arg", "select_axis.h", ("arg.c",), "ar_arg_params", fields)


@register
class ArgMax(Arg):
    op_name = "ARG_MAX"
    kernels = ("arg.c",)
    smallest = 0


@register
class ArgMin(Arg):
    op_name = "ARG_MIN"
    kernels = ("arg.c",)
    smallest = 1


@register
class TopK(Lowering):
    op_name = "TOPK_V2"
    supports = "int8, int16, int32; constant k; indices int16 or int32"
    kernels = ("topk.c",)

    def check(self, graph: Subgraph, op: Op) -> None:
        x = graph.tensors[op.inputs[0]]
        values, indices = (graph.tensors[i] for i in op.outputs)
        require_dtype(op, x, ("int8", "uint8", "int16", "int32"))
        require_dtype(op, values, (x.dtype,))
        require_dtype(op, indices, ("int16", "int32"))
        k = integers(graph, op, 1, "k")
        if not x.shape or len(k) != 1 or not 0 < k[0] <= x.shape[-1]:
            raise refuse(op, x, f"has no {k} largest elements", "Choose a smaller k.")
        if indices.dtype == "int16" and x.shape[-1] > 32767:
            raise refuse(op, indices, f"cannot represent indices up to {x.shape[-1]}", "Use int32 indices.")
        expected = (*x.shape[:-1], k[0])
        for t in (values, indices):
            if t.shape != expected:
                raise refuse(
                    op,
                    t,
                    f"shape {list(t.shape)}, expected {list(expected)}",
                    "Export the model again, because its shapes do not agree.",
                )

    def lower(self, ctx: LowerContext) -> KernelCall:
        x = ctx.input_tensor(0)
        fields = {
            "input": ctx.input_ptr(0),
            "values": ctx.output_ptr(0),
            "indices": ctx.output_ptr(1),
            "rows": math.prod(x.shape[:-1]),
            "axis": x.shape[-1],
            "k": ctx.output(0).shape[-1],
            "type": Expr(f"AR_{x.dtype.upper()}"),
            "index_type": Expr(f"AR_{ctx.output(1).dtype.upper()}"),
        }
        return KernelCall("ar_topk", "select_axis.h", ("topk.c",), "ar_topk_params", fields)


@register
class CumSum(Lowering):
    op_name = "CUMSUM"
    supports = "int32, int64; constant axis; exclusive, reverse"
    kernels = ("cumsum.c",)

    def check(self, graph: Subgraph, op: Op) -> None:
        x, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        require_dtype(op, x, ("int32", "int64"))
        require_dtype(op, out, (x.dtype,))
        axis_split(graph, op)
        if out.shape != x.shape:
            raise refuse(
                op,
                out,
                f"shape {list(out.shape)}, expected {list(x.shape)}",
                "Export the model again, because its shapes do not agree.",
            )

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    def lower(self, ctx: LowerContext) -> KernelCall:
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            **axis_split(ctx.graph, ctx.op)[1],
            "element": ctx.output().itemsize,
            "exclusive": int(ctx.op.options["exclusive"]),
            "reverse": int(ctx.op.options["reverse"]),
        }
        return KernelCall("ar_cumsum", "select_axis.h", ("cumsum.c",), "ar_cumsum_params", fields)
