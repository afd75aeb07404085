"""Lower MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ANY and REDUCE_ALL to kernel calls."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE, quantize_multiplier
from arenite.firmware.generator.lower.core.lowering import (
    Expr,
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_constant,
    require_dtype,
    require_quantized,
)

#: The number of dimensions in the struct ``ar_walk_dims``.
WALK_DIMS = 4


def reduced_axes(graph: Subgraph, op: Op) -> list[int]:
    """Return the axes that are reduced, in order and without repeats. Negative axes count from the end."""
    inp, axes = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
    values = require_constant(op, axes, "the axes")
    rank = len(inp.shape)
    return sorted({int(a) % rank for a in values.reshape(-1)}) if rank else []


def merge_dimensions(shape: tuple[int, ...], axes: list[int]) -> list[tuple[bool, int]]:
    """Return ``(folded, size)`` per dimension; folded dimensions are reduced. Neighboring dimensions are merged
    if both are folded or if neither is. Dimensions of 1 are left out."""
    merged: list[tuple[bool, int]] = []
    for axis, size in enumerate(shape):
        folded = axis in axes
        if size == 1:
            continue
        if merged and merged[-1][0] == folded:
            merged[-1] = (folded, merged[-1][1] * size)
        else:
            merged.append((folded, size))
    return merged


def walk_fields(dims: list[tuple[bool, int]], folded: bool) -> dict[str, Any]:
    """Return the fields of ``ar_walk_dims`` for the reduced dimensions if ``folded``, otherwise for the other
    dimensions."""
    selected: list[tuple[int, int]] = []
    stride = 1
    for kind, size in reversed(dims):
        if kind == folded:
            selected.insert(0, (size, stride))
        stride *= size
    padded = [(1, 0)] * (WALK_DIMS - len(selected)) + selected
    sizes = [s for s, _ in padded]
    return {"count": int(np.prod(sizes)), "size": sizes, "stride": [s for _, s in padded]}


def folded_count(shape: tuple[int, ...], axes: list[int]) -> int:
    """Return the number of inputs that are reduced to one output."""
    return int(np.prod([shape[a] for a in axes], dtype=np.int64))


class Reduce(Lowering):
    """The base class of all reductions. The axes are constant, and outputs are written in order."""

    dtypes: ClassVar[tuple[str, ...]]

    def check(self, graph: Subgraph, op: Op) -> None:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        require_dtype(op, inp, self.dtypes)
        require_dtype(op, out, (inp.dtype,))
        axes = reduced_axes(graph, op)
        if not inp.elements:
            raise refuse(op, inp, "has no elements", "Remove the operator.")
        if len(merge_dimensions(inp.shape, axes)) > 2 * WALK_DIMS:
            raise refuse(
                op,
                inp,
                f"reduced and other dimensions alternate more than {2 * WALK_DIMS - 1} times",
                "Reduce in two steps, or transpose first.",
            )
        if inp.dtype in ("int8", "int16"):
            require_quantized(op, inp)
            require_quantized(op, out)
        self.check_values(op, inp, out, folded_count(inp.shape, axes))

    def check_values(self, op: Op, inp: Tensor, out: Tensor, count: int) -> None:
        """Raise ``UnsupportedModelError`` for quantization that this reduction does not define. ``count`` inputs are
        reduced to one output."""

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        """Return (0, 0). This is always safe, because outputs are written in order, and input k belongs to an output
        whose number is at most k."""
        return ((0, 0),)

    def common_fields(self, ctx: LowerContext) -> dict[str, Any]:
        """Return the fields that the parameters of all reductions have."""
        inp = ctx.input_tensor(0)
        dims = merge_dimensions(inp.shape, reduced_axes(ctx.graph, ctx.op))
        return {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "kept": walk_fields(dims, False),
            "folded": walk_fields(dims, True),
        }

    def unscaled_call(self, ctx: LowerContext, kernel: str, fold: str) -> KernelCall:
        """Return the call of a kernel that does not scale. ``fold`` is the C constant of the operation."""
        fields = self.common_fields(ctx) | {
            "fold": Expr(fold),
            "type": Expr(f"AR_{ctx.output().dtype.upper()}"),
        }
        return KernelCall(f"ar_{kernel}", "reduce.h", (f"{kernel}.c",), "ar_reduce_params", fields)

    def scaled_call(
        self, ctx: LowerContext, multiplier: int, shift: int, unsigned: bool = False
    ) -> KernelCall:
        """Return the call of a kernel that scales sums. If ``unsigned`` is true, int8 inputs count as unsigned
        bytes."""
        inp, out = ctx.input_tensor(0), ctx.output()
        count = folded_count(inp.shape, reduced_axes(ctx.graph, ctx.op))
        low, high = INTEGER_RANGE["uint8" if unsigned else inp.dtype]
        fields = self.common_fields(ctx) | {
            "multiplier": multiplier,
            "sum_offset": ((-inp.zero_point * count + 2**31) & (2**32 - 1)) - 2**31,  # wraps like the sum
            "shift": shift,
            "output_offset": out.zero_point,
            "low": low,
            "high": high,
            "mask": 0xFF if unsigned else -1,
        }
        kernel = "reduce_mean_s8" if inp.dtype == "int8" else "reduce_mean_s16"
        return KernelCall(f"ar_{kernel}", "reduce.h", (f"{kernel}.c",), "ar_reduce_mean_params", fields)


@register
class Mean(Reduce):
    op_name = "MEAN"
    supports = "int8, int16, int32; any constant axes"
    kernels = ("reduce_mean_s16.c", "reduce_mean_s8.c", "reduce_s32.c")
    dtypes = ("int8", "int16", "int32")

    def lower(self, ctx: LowerContext) -> KernelCall:
        inp, out = ctx.input_tensor(0), ctx.output()
        if inp.dtype == "int32":
            return self.unscaled_call(ctx, "reduce_s32", "AR_FOLD_MEAN")
        # The multiplier includes the division, shifted up as far as 32 bits and the shift's range allow.
        count = folded_count(inp.shape, reduced_axes(ctx.graph, ctx.op))
        multiplier, shift = quantize_multiplier(inp.scale / out.scale)
        up = min(count.bit_length() - 1, 32, 31 + shift)
        return self.scaled_call(ctx, (multiplier << up) // count, shift - up)


@register
class Sum(Reduce):
    op_name = "SUM"
    supports = (
        "int8, int32; any constant axes. As in LiteRT's reference kernel, int8 inputs count as unsigned bytes"
        " (-1 is 255); use MEAN where values can be negative"
    )
    kernels = ("reduce_mean_s8.c", "reduce_s32.c")
    dtypes = ("int8", "int32")

    def lower(self, ctx: LowerContext) -> KernelCall:
        inp, out = ctx.input_tensor(0), ctx.output()
        if inp.dtype == "int32":
            return self.unscaled_call(ctx, "reduce_s32", "AR_FOLD_SUM")
        multiplier, shift = quantize_multiplier(inp.scale / out.scale)
        return self.scaled_call(ctx, multiplier, shift, unsigned=True)


@register
class ReduceProd(Reduce):
    op_name = "REDUCE_PROD"
    supports = "int8, int16, int32; any constant axes"
    kernels = ("reduce_prod.c", "reduce_s32.c")
    dtypes = ("int8", "int16", "int32")

    @staticmethod
    def multiplier(inp: Tensor, out: Tensor, count: int) -> tuple[int, int]:
        """Return the multiplier of every factor: input scale / nth root of output scale, with 16 bits."""
        multiplier, shift = quantize_multiplier(inp.scale / out.scale ** (1.0 / count))
        return ((multiplier + (1 << 15)) >> 16 if multiplier < 0x7FFF0000 else 0x7FFF), shift

    def check_values(self, op: Op, inp: Tensor, out: Tensor, count: int) -> None:
        if inp.dtype == "int32":
            if inp.quant is not None:
                raise refuse(
                    op,
                    inp,
                    "has int32 values with a scale",
                    "Export the model with int32 values without quantization.",
                )
        elif not -31 <= self.multiplier(inp, out, count)[1] < 8:
            raise refuse(
                op, out, "its scale is too far from the input's", "Calibrate the model with more data."
            )

    def lower(self, ctx: LowerContext) -> KernelCall:
        inp, out = ctx.input_tensor(0), ctx.output()
        if inp.dtype == "int32":
            return self.unscaled_call(ctx, "reduce_s32", "AR_FOLD_PROD")
        count = folded_count(inp.shape, reduced_axes(ctx.graph, ctx.op))
        multiplier, shift = self.multiplier(inp, out, count)
        fields = self.common_fields(ctx) | {
            "input_offset": -inp.zero_point,
            "output_offset": out.zero_point,
            "multiplier": multiplier,
            "shift": shift,
            "type": Expr(f"AR_{inp.dtype.upper()}"),
        }
        return KernelCall("ar_reduce_prod", "reduce.h", ("reduce_prod.c",), "ar_reduce_prod_params", fields)


class Extreme(Reduce):
    """The base class of REDUCE_MAX and REDUCE_MIN."""

    supports = "int8, int16, int32; any constant axes; output quantized like the input"
    dtypes: ClassVar[tuple[str, ...]] = ("int8", "int16", "int32")
    fold: ClassVar[str]

    def check_values(self, op: Op, inp: Tensor, out: Tensor, count: int) -> None:
        if inp.dtype != "int32" and (inp.scale, inp.zero_point) != (out.scale, out.zero_point):
            raise refuse(
                op, out, "scale and zero point differ from the input's", "Put a QUANTIZE after the reduction."
            )

    def lower(self, ctx: LowerContext) -> KernelCall:
        return self.unscaled_call(ctx, "reduce_extreme", self.fold)


@register
class ReduceMax(Extreme):
    op_name = "REDUCE_MAX"
    kernels = ("reduce_extreme.c",)
    fold = "AR_FOLD_MAX"


@register
class ReduceMin(Extreme):
    op_name = "REDUCE_MIN"
    kernels = ("reduce_extreme.c",)
    fold = "AR_FOLD_MIN"


class Logical(Extreme):
    """The base class of REDUCE_ANY and REDUCE_ALL, the largest and the smallest of bools."""

    supports = "bool; any constant axes"
    dtypes = ("bool",)

    def check_values(self, op: Op, inp: Tensor, out: Tensor, count: int) -> None:
        pass


@register
class ReduceAny(Logical):
    op_name = "REDUCE_ANY"
    kernels = ("reduce_extreme.c",)
    fold = "AR_FOLD_MAX"


@register
class ReduceAll(Logical):
    op_name = "REDUCE_ALL"
    kernels = ("reduce_extreme.c",)
    fold = "AR_FOLD_MIN"
