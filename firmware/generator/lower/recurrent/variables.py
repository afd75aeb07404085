"""Lower VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE and CALL_ONCE, which keep state between inferences.

A resource variable has a fixed address in the arena. The value that READ_VARIABLE returns must not change when the
variable is assigned later. So it is a copy, unless every operator that uses the value runs before the assignment in the
plan. Such operators read the variable itself. CALL_ONCE defines the values of variables after a reset (see ``state``).
"""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.resource_variables import handle_names
from arenite.firmware.generator.lower.core.lowering import Expr, KernelCall, LowerContext, Lowering, register


def copy_bytes(source: Expr, target: Expr, size: int) -> KernelCall:
    """Return the call that copies ``size`` bytes."""
    fields = {"input": source, "output": target, "bytes": size}
    return KernelCall("ar_copy", "copy.h", ("copy.c",), "ar_copy_params", fields)


def variable_of(ctx: LowerContext) -> Expr:
    """Return the address of the variable whose handle is input 0."""
    return ctx.variable_ptr(handle_names(ctx.graph)[ctx.op.inputs[0]])


@register
class VarHandle(Lowering):
    op_name = "VAR_HANDLE"
    supports = "any type; needs no code"

    def lower(self, ctx: LowerContext) -> None:
        return None


@register
class ReadVariable(Lowering):
    op_name = "READ_VARIABLE"
    supports = "any type; after CALL_ONCE or ASSIGN_VARIABLE gave it a value"
    kernels = ("copy.c",)

    def alias(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    def lower(self, ctx: LowerContext) -> KernelCall | None:
        source, target = variable_of(ctx), ctx.output_ptr()
        return None if source == target else copy_bytes(source, target, ctx.output().nbytes)


@register
class AssignVariable(Lowering):
    op_name = "ASSIGN_VARIABLE"
    supports = "any type, always the same number of bytes"
    kernels = ("copy.c",)

    def lower(self, ctx: LowerContext) -> KernelCall:
        value = ctx.input_tensor(1)
        return copy_bytes(ctx.input_ptr(1), variable_of(ctx), value.nbytes)


@register
class CallOnce(Lowering):
    op_name = "CALL_ONCE"
    supports = "a subgraph that assigns constants to variables; part of the reset, so it needs no code"

    def lower(self, ctx: LowerContext) -> None:
        return None
