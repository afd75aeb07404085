"""Operators that change only a shape: RESHAPE, SQUEEZE, EXPAND_DIMS."""

from __future__ import annotations

from arenite.converters.graph import Op, Subgraph
from arenite.firmware.generator.lower.base import KernelCall, LowerContext, Lowering, register


def copy_call(ctx: LowerContext, position: int = 0) -> KernelCall | None:
    """Copy the input at ``position`` to the output; None when the plan lets them share an address."""
    source, target = ctx.input_ptr(position), ctx.output_ptr()
    if source == target:
        return None
    fields = {"input": source, "output": target, "bytes": ctx.output().nbytes}
    return KernelCall("ar_copy", "copy.h", ("copy.c",), "ar_copy_params", fields)


class ShapeOnly(Lowering):
    supports = "any type; needs no code when the planner lets input and output share an address"

    def alias(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    def lower(self, ctx: LowerContext) -> KernelCall | None:
        return copy_call(ctx)


@register
class Reshape(ShapeOnly):
    op_name = "RESHAPE"


@register
class Squeeze(ShapeOnly):
    op_name = "SQUEEZE"


@register
class ExpandDims(ShapeOnly):
    op_name = "EXPAND_DIMS"
