"""Reject operators that TFLite runs only on float32, with a hint to a replacement."""

from __future__ import annotations

from typing import ClassVar

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
)


class FloatOnly(Lowering):
    """The base class of operators that TFLite runs only on float32. ``hint`` suggests what to do instead."""

    supports = "not supported: TFLite has it for float32 only"
    hint: ClassVar[str] = "Move the layer to the host, or replace it before quantizing."

    def check(self, graph: Subgraph, op: Op) -> None:
        tensor = graph.tensors[op.inputs[0]]
        raise refuse(op, tensor, "TFLite has this operator for float32 only, not for integers", self.hint)

    def lower(self, ctx: LowerContext) -> KernelCall:
        raise AssertionError(f"{self.op_name} was not checked before lowering")


@register
class Round(FloatOnly):
    op_name = "ROUND"


@register
class Floor(FloatOnly):
    op_name = "FLOOR"


@register
class Ceil(FloatOnly):
    op_name = "CEIL"


@register
class Sin(FloatOnly):
    op_name = "SIN"


@register
class Cos(FloatOnly):
    op_name = "COS"


@register
class Square(FloatOnly):
    op_name = "SQUARE"
    hint = "Write x * x: MUL is quantized."
