"""Lower EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, MINIMUM and MAXIMUM to kernel calls."""

from __future__ import annotations

from typing import ClassVar

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import quantize_multiplier
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    refuse,
    register,
    require_quantized,
)
from arenite.firmware.generator.lower.elementwise.binary import TYPE_CODES, Binary, require_below_one

#: Bits of ar_compare_params.accept. The output is true if the bit for the result of the comparison is set.
LESS, SAME, MORE = 1, 2, 4


class Compare(Binary):
    """A comparison. TFLite scales int8 inputs to a common scale first, but int16 inputs only for EQUAL and
    NOT_EQUAL."""

    dtypes: ClassVar[tuple[str, ...]] = ("int8", "int16", "int32")
    out_dtype = "bool"
    supports = "int8 of any scales, int16, int32; broadcasting; bool output"
    accept: ClassVar[int]
    scales_int16: ClassVar[bool] = False

    def scaled(self, inputs: list[Tensor]) -> bool:
        """Return whether the inputs are scaled before they are compared."""
        dtype = inputs[0].dtype
        return dtype == "int8" or (dtype == "int16" and self.scales_int16 and inputs[0].quant is not None)

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        inputs = self.operands(graph, op)
        if self.scaled(inputs):
            for t in inputs:
                require_quantized(op, t)
                require_below_one(op, t.scale, "scale of an input")

    def lower(self, ctx: LowerContext) -> KernelCall:
        inputs = self.operands(ctx.graph, ctx.op)
        base = self.base_fields(ctx) | {"type": TYPE_CODES[inputs[0].dtype], "accept": self.accept}
        if not self.scaled(inputs):
            return KernelCall(
                "ar_compare", "compare.h", ("compare.c", "broadcast.c"), "ar_compare_params", base
            )
        (m1, s1), (m2, s2) = (quantize_multiplier(t.scale) for t in inputs)
        fields = {
            "base": base,
            "multiplier1": m1,
            "multiplier2": m2,
            "offset1": -inputs[0].zero_point,
            "offset2": -inputs[1].zero_point,
            "shift1": -s1,
            "shift2": -s2,
        }
        sources = ("compare_scaled.c", "broadcast.c")
        return KernelCall("ar_compare_scaled", "compare.h", sources, "ar_compare_scaled_params", fields)


@register
class Equal(Compare):
    op_name = "EQUAL"
    supports = "int8 and int16 of any scales, int32, bool; broadcasting; bool output"
    kernels = ("broadcast.c", "compare.c", "compare_scaled.c")
    dtypes = ("int8", "int16", "int32", "bool")
    accept = SAME
    scales_int16 = True


@register
class NotEqual(Compare):
    op_name = "NOT_EQUAL"
    supports = "int8 and quantized int16 of any scales, int32, bool; broadcasting; bool output"
    kernels = ("broadcast.c", "compare.c", "compare_scaled.c")
    dtypes = ("int8", "int16", "int32", "bool")
    accept = LESS | MORE
    scales_int16 = True

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        first = graph.tensors[op.inputs[0]]
        if first.dtype == "int16" and first.quant is None:
            raise refuse(
                op,
                first,
                "TFLite does not compute NOT_EQUAL of int16 without quantization",
                "Cast to int32 before it, or use EQUAL and LOGICAL_NOT.",
            )


@register
class Less(Compare):
    op_name = "LESS"
    kernels = ("broadcast.c", "compare.c", "compare_scaled.c")
    accept = LESS


@register
class LessEqual(Compare):
    op_name = "LESS_EQUAL"
    kernels = ("broadcast.c", "compare.c", "compare_scaled.c")
    accept = LESS | SAME


@register
class Greater(Compare):
    op_name = "GREATER"
    kernels = ("broadcast.c", "compare.c", "compare_scaled.c")
    accept = MORE


@register
class GreaterEqual(Compare):
    op_name = "GREATER_EQUAL"
    kernels = ("broadcast.c", "compare.c", "compare_scaled.c")
    accept = MORE | SAME


class MinimumMaximum(Binary):
    """MINIMUM or MAXIMUM. TFLite compares the stored integers and ignores the scales."""

    dtypes = ("int8", "uint8", "int16", "int32")
    supports = "int8, uint8, int16, int32; broadcasting; no rescaling, as in TFLite"
    maximum: ClassVar[int]

    def lower(self, ctx: LowerContext) -> KernelCall:
        fields = self.base_fields(ctx) | {"type": TYPE_CODES[ctx.output().dtype], "maximum": self.maximum}
        return KernelCall(
            "ar_minimum_maximum",
            "minimum_maximum.h",
            ("minimum_maximum.c", "broadcast.c"),
            "ar_minimum_maximum_params",
            fields,
        )


@register
class Minimum(MinimumMaximum):
    op_name = "MINIMUM"
    kernels = ("broadcast.c", "minimum_maximum.c")
    maximum = 0


@register
class Maximum(MinimumMaximum):
    op_name = "MAXIMUM"
    kernels = ("broadcast.c", "minimum_maximum.c")
    maximum = 1
