"""Lower BATCH_MATMUL to a kernel call."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import quantize_multiplier
from arenite.firmware.generator.lower.conv.convolution import REQUANTIZE, check_activations, narrow_multiplier
from arenite.firmware.generator.lower.core.lowering import (
    Expr,
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_dtype,
    require_quantized,
    u16,
)

#: The number of int8 products (each at most 255^2) that a 32-bit sum can hold.
_DEPTH_LIMIT = (2**31 - 1) // 255**2


@register
class BatchMatMul(Lowering):
    op_name = "BATCH_MATMUL"
    supports = "int8 x int8, int16 x int16, int16 x int8; constant or not; transposed and broadcast operands"
    kernels = ("batch_matmul_s16.c", "batch_matmul_s8.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        lhs, rhs, out = (graph.tensors[i] for i in (*op.inputs, *op.outputs))
        check_activations(op, lhs, out)
        require_dtype(op, rhs, ("int8",) if lhs.dtype == "int8" else ("int16", "int8"))
        require_quantized(op, rhs)
        if lhs.dtype == "int16" and rhs.zero_point:
            raise refuse(op, rhs, "must have zero point 0 beside int16", REQUANTIZE)
        for tensor in (lhs, rhs):
            if not 2 <= len(tensor.shape) <= 5:
                raise refuse(
                    op,
                    tensor,
                    "must have 2 to 5 dimensions",
                    "Export the model with a reshape to 2 to 5 dimensions before it.",
                )
        depth = lhs.shape[-2 if op.options["adj_x"] else -1]
        if lhs.dtype == "int8" and depth > _DEPTH_LIMIT:
            raise refuse(
                op, lhs, f"sums of more than {_DEPTH_LIMIT} products can overflow 32 bits", "Split the layer."
            )
        scaling(op, lhs, rhs, out)

    def macs(self, graph: Subgraph, op: Op) -> int:
        lhs = graph.tensors[op.inputs[0]]
        return graph.tensors[op.outputs[0]].elements * lhs.shape[-2 if op.options["adj_x"] else -1]

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, lhs, rhs, out = ctx.op, ctx.input_tensor(0), ctx.input_tensor(1), ctx.output()
        adj_x, adj_y = bool(op.options["adj_x"]), bool(op.options["adj_y"])
        multiplier, shift = scaling(op, lhs, rhs, out)
        batch = (1, 1, 1, *out.shape[:-2])[-3:]
        kernel = "batch_matmul_s8" if lhs.dtype == "int8" else "batch_matmul_s16"
        fields = {
            "lhs": operand(ctx.input_ptr(0), lhs, outer=-1 if adj_x else -2),
            "rhs": operand(ctx.input_ptr(1), rhs, outer=-2 if adj_y else -1),
            "output": ctx.output_ptr(),
            "multiplier": multiplier,
            "batch": [u16(op, d, "batch size") for d in batch],
            "rows": u16(op, out.shape[-2], "rows"),
            "cols": u16(op, out.shape[-1], "columns"),
            "depth": u16(op, lhs.shape[-2 if adj_x else -1], "inner dimension"),
            "output_offset": out.zero_point,
            "shift": shift,
            "rhs_int8": int(rhs.dtype == "int8"),
        }
        return KernelCall(
            f"ar_{kernel}", "batch_matmul.h", (f"{kernel}.c",), "ar_batch_matmul_params", fields
        )


def operand(address: Expr, tensor: Tensor, outer: int) -> dict[str, Any]:
    """Return the fields of one ``ar_matmul_operand``, with strides in elements.

    ``outer`` is the axis of the operand (-1 or -2) that is also an axis of the output. The other matrix axis is summed.
    """
    shape = (1,) * (5 - len(tensor.shape)) + tensor.shape
    strides = [int(np.prod(shape[k + 1 :])) for k in range(5)]
    return {
        "data": address,
        "batch": [0 if shape[k] == 1 else strides[k] for k in range(3)],
        "outer": strides[outer],
        "inner": strides[-3 - outer],
        "offset": -tensor.zero_point,
    }


def scaling(op: Op, lhs: Tensor, rhs: Tensor, out: Tensor) -> tuple[int, int]:
    """Return the multiplier and shift of the requantization. TFLite rounds the product of the operands' scales to
    float32."""
    product = float(np.float32(lhs.scale) * np.float32(rhs.scale))
    multiplier, shift = quantize_multiplier(product / out.scale)
    return narrow_multiplier(op, out, multiplier, shift) if lhs.dtype == "int16" else (multiplier, shift)
