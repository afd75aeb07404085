"""Lower DIV, FLOOR_DIV, FLOOR_MOD and POW to kernel calls."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE, activation_range, quantize_multiplier
from arenite.firmware.generator.lower.core.lowering import (
    Expr,
    KernelCall,
    LowerContext,
    refuse,
    register,
    require_quantized,
)
from arenite.firmware.generator.lower.elementwise.arithmetic_f32 import arithmetic_f32
from arenite.firmware.generator.lower.elementwise.binary import (
    TYPE_CODES,
    Binary,
    plain_activation_range,
    require_activation,
)


def refuse_zero_divisor(op: Op, divisor: Tensor, zero: int) -> None:
    """Raise ``UnsupportedModelError`` if a constant divisor has the value ``zero``."""
    if divisor.data is not None and bool((divisor.data == zero).any()):
        raise refuse(op, divisor, "divides by zero", "TFLite stops at run time. Correct the model.")


class PlainDivision(Binary):
    """Division of integers without a scale."""

    operation: ClassVar[str]  # a macro of divide.h

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        refuse_zero_divisor(op, graph.tensors[op.inputs[1]], 0)

    def plain_call(self, ctx: LowerContext, limits: tuple[int, int]) -> KernelCall:
        """Return the call that divides integers and clamps the result to ``limits``."""
        fields = self.typed_fields(ctx, limits) | {"operation": Expr(self.operation)}
        sources = ("divide_int.c", "broadcast.c")
        return KernelCall("ar_divide_int", "divide.h", sources, "ar_divide_int_params", fields)

    def typed_fields(self, ctx: LowerContext, limits: tuple[int, int]) -> dict[str, Any]:
        """Return the fields of ``ar_divide_int_params`` without the operation."""
        limit_fields = {"act_min": limits[0], "act_max": limits[1]}
        return self.base_fields(ctx) | limit_fields | {"type": TYPE_CODES[ctx.output().dtype]}

    def lower(self, ctx: LowerContext) -> KernelCall:
        return self.plain_call(ctx, INTEGER_RANGE["int32"])


@register
class FloorDiv(PlainDivision):
    op_name = "FLOOR_DIV"
    supports = "int8, int16, int32; divides the stored integers, as TFLite does; broadcasting"
    kernels = ("broadcast.c", "divide_int.c")
    dtypes = ("int8", "int16", "int32")
    operation = "AR_FLOOR_DIV"


@register
class FloorMod(PlainDivision):
    op_name = "FLOOR_MOD"
    supports = "int8, int16, int32; divides the stored integers, as TFLite does; broadcasting"
    kernels = ("broadcast.c", "divide_int.c")
    dtypes = ("int8", "int16", "int32")
    operation = "AR_FLOOR_MOD"


@register
class Div(PlainDivision):
    op_name = "DIV"
    supports = (
        "int8, int16 within TFLite's defined range of scales, int32, float32; broadcasting; fused activations"
    )
    kernels = ("arithmetic_f32.c", "broadcast.c", "divide_int.c", "divide_scaled.c", "exp_fixed.c")
    dtypes = ("int8", "int16", "int32", "float32")
    operation = "AR_DIV"

    def check(self, graph: Subgraph, op: Op) -> None:
        Binary.check(self, graph, op)
        require_activation(op)
        (a, b), out = self.operands(graph, op), graph.tensors[op.outputs[0]]
        if out.dtype == "float32":
            return
        if out.dtype == "int32":
            refuse_zero_divisor(op, b, 0)
            return
        for t in (a, b, out):
            require_quantized(op, t)
        refuse_zero_divisor(op, b, b.zero_point)
        _, shift = self.scaling(a, b, out)
        # TFLite shifts right by the divisor's bits plus the dividend's free bits minus ``shift``. This number must be 0
        # to 31 for every divisor and dividend.
        divisor_bits = _largest_magnitude(b).bit_length() - 1
        min_free_bits = 31 - _largest_magnitude(a).bit_length()
        if not divisor_bits <= shift <= min_free_bits:
            raise refuse(
                op,
                out,
                f"scale {out.scale:g} is outside of what TFLite's integer division can represent",
                "Multiply by a constant (MUL) instead, or calibrate for a finer output scale.",
            )

    def scaling(self, a: Tensor, b: Tensor, out: Tensor) -> tuple[int, int]:
        """Return the (multiplier, shift) of a quantized quotient: scale of a / (scale of b * output scale)."""
        real = np.float32(a.scale) / (np.float32(b.scale) * np.float32(out.scale))
        return quantize_multiplier(float(real))

    def lower(self, ctx: LowerContext) -> KernelCall:
        (a, b), out = self.operands(ctx.graph, ctx.op), ctx.output()
        if out.dtype == "float32":
            return arithmetic_f32(self, ctx)
        activation = require_activation(ctx.op)
        if out.dtype == "int32":
            return self.plain_call(ctx, plain_activation_range(activation, "int32"))
        multiplier, shift = self.scaling(a, b, out)
        fields = {
            "base": self.typed_fields(ctx, activation_range(activation, out)),
            "multiplier": multiplier,
            "offset1": -a.zero_point,
            "offset2": -b.zero_point,
            "output_offset": out.zero_point,
            "shift": shift,
        }
        sources = ("divide_scaled.c", "exp_fixed.c", "broadcast.c")
        return KernelCall("ar_divide_scaled", "divide.h", sources, "ar_divide_scaled_params", fields)


def _largest_magnitude(tensor: Tensor) -> int:
    """Return the largest distance of a stored value from the zero point."""
    if tensor.data is not None:
        return max(int(np.abs(tensor.data.astype(np.int64) - tensor.zero_point).max(initial=1)), 1)
    low, high = INTEGER_RANGE[tensor.dtype]
    return max(high - tensor.zero_point, tensor.zero_point - low)


@register
class Pow(Binary):
    op_name = "POW"
    supports = "int32; broadcasting; exponents of zero or more"
    kernels = ("broadcast.c", "pow_s32.c")
    dtypes = ("int32",)

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        exponent = graph.tensors[op.inputs[1]]
        if exponent.data is not None and bool((exponent.data < 0).any()):
            raise refuse(
                op,
                exponent,
                "has a negative exponent",
                "Use exponents of 0 or more: TFLite has no negative integer powers.",
            )

    def lower(self, ctx: LowerContext) -> KernelCall:
        base, exponent = self.operands(ctx.graph, ctx.op)
        # TFLite multiplies integers if there is one broadcast exponent. Otherwise it calls the float function.
        wraps = base.shape != exponent.shape and exponent.elements == 1
        fields = self.base_fields(ctx) | {"wraps": int(wraps)}
        sources = ("pow_s32.c", "broadcast.c")
        return KernelCall("ar_pow_s32", "pow_s32.h", sources, "ar_pow_s32_params", fields)
