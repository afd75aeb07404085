"""Lower RESHAPE, SQUEEZE and EXPAND_DIMS, which change only a shape, to copies or to no code."""

from __future__ import annotations

from arenite.converters.graph.model import DTYPES, Op, Subgraph
from arenite.firmware.generator.lower.core.copy_call import copy_call
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_dtype,
)


class ShapeOnly(Lowering):
    """The base class of operators that change only a shape."""

    supports = "any type; needs no code when the planner lets input and output share an address"
    kernels = ("copy.c",)

    def check(self, graph: Subgraph, op: Op) -> None:
        source, target = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        if DTYPES[source.dtype] is None:
            raise refuse(
                op,
                source,
                f"has type {source.dtype}, which Arenite does not support",
                "Quantize the model to int8 or int16.",
            )
        require_dtype(op, target, (source.dtype,))
        if source.elements != target.elements:
            raise refuse(
                op,
                target,
                f"shape {list(target.shape)} does not hold {source.elements} elements",
                "Export the model again, because its shapes do not agree.",
            )

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
