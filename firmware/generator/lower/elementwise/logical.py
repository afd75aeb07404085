"""Lower LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT, SELECT and SELECT_V2 to kernel calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_dtype,
)
from arenite.firmware.generator.lower.elementwise.binary import Binary, require_same_dtype
from arenite.firmware.generator.lower.elementwise.broadcast import broadcast_fields, check_broadcast


class Logical(Binary):
    """The base class of the logical operators."""

    dtypes = ("bool",)
    supports = "bool; broadcasting"
    truth: ClassVar[int]  # bit 2a + b is the result for inputs a and b

    def lower(self, ctx: LowerContext) -> KernelCall:
        fields = self.base_fields(ctx) | {"truth": self.truth}
        return KernelCall(
            "ar_logical", "logical.h", ("logical.c", "broadcast.c"), "ar_logical_params", fields
        )


@register
class LogicalAnd(Logical):
    op_name = "LOGICAL_AND"
    kernels = ("broadcast.c", "logical.c")
    truth = 0b1000


@register
class LogicalOr(Logical):
    op_name = "LOGICAL_OR"
    kernels = ("broadcast.c", "logical.c")
    truth = 0b1110


@register
class LogicalNot(Logical):
    op_name = "LOGICAL_NOT"
    supports = "bool"
    kernels = ("broadcast.c", "logical.c")
    truth = 0b0001  # the kernel gets the same input twice

    def operands(self, graph: Subgraph, op: Op) -> list[Tensor]:
        return [graph.tensors[op.inputs[0]]] * 2

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    def base_fields(self, ctx: LowerContext) -> dict[str, Any]:
        shape = ctx.output().shape
        return {
            "input1": ctx.input_ptr(0),
            "input2": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "shape": broadcast_fields(ctx, [shape, shape], [1, 1]),
        }


class SelectLike(Lowering):
    """The base class of SELECT and SELECT_V2. The inputs are the condition, the value for true and the value for
    false."""

    def operands(self, graph: Subgraph, op: Op) -> list[Tensor]:
        return [graph.tensors[i] for i in op.inputs[:3]]

    def check(self, graph: Subgraph, op: Op) -> None:
        condition, yes, no = self.operands(graph, op)
        out = graph.tensors[op.outputs[0]]
        require_dtype(op, condition, ("bool",))
        require_dtype(op, yes, ("int8", "uint8", "bool", "int16", "int32", "int64", "float32"))
        require_same_dtype(op, [yes, no])
        require_dtype(op, out, (yes.dtype,))
        if {1} != {condition.elements, yes.elements, no.elements, out.elements}:
            check_broadcast(op, self.shaped(graph, op), out)

    def shaped(self, graph: Subgraph, op: Op) -> list[Tensor]:
        """Return the inputs, with their shapes changed to those with which they broadcast."""
        return self.operands(graph, op)

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        out = graph.tensors[op.outputs[0]]
        values = enumerate(self.operands(graph, op))
        return tuple((k, 0) for k, t in values if t.shape == out.shape and t.itemsize == out.itemsize)

    def lower(self, ctx: LowerContext) -> KernelCall:
        inputs = self.shaped(ctx.graph, ctx.op)
        fields = {
            "condition": ctx.input_ptr(0),
            "if_true": ctx.input_ptr(1),
            "if_false": ctx.input_ptr(2),
            "output": ctx.output_ptr(),
            "shape": broadcast_fields(ctx, [t.shape for t in inputs], [t.itemsize for t in inputs]),
            "element_size": ctx.output().itemsize,
        }
        return KernelCall("ar_select", "select.h", ("select.c", "broadcast.c"), "ar_select_params", fields)


@register
class SelectV2(SelectLike):
    op_name = "SELECT_V2"
    supports = "values of any type; broadcasting"
    kernels = ("broadcast.c", "select.c")


@register
class Select(SelectLike):
    op_name = "SELECT"
    supports = "values of any type; condition of the same shape, scalar, or one per first dimension"
    kernels = ("broadcast.c", "select.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        condition, yes, no = self.operands(graph, op)
        allowed = (yes.shape, (), yes.shape[:1])
        single = {condition.elements, yes.elements, no.elements} == {1}
        if not single and (yes.shape != no.shape or condition.shape not in allowed):
            raise refuse(op, condition, "SELECT does not broadcast its inputs", "Use SELECT_V2.")

    def shaped(self, graph: Subgraph, op: Op) -> list[Tensor]:
        condition, yes, no = self.operands(graph, op)
        if len(condition.shape) == 1 and condition.shape != yes.shape:
            condition = replace(condition, shape=condition.shape + (1,) * (len(yes.shape) - 1), data=None)
        return [condition, yes, no]
