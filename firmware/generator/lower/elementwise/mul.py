"""Lower MUL to a kernel call."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import activation_range, quantize_multiplier
from arenite.firmware.generator.lower.core.lowering import (
    Expr,
    KernelCall,
    LowerContext,
    register,
    require_quantized,
)
from arenite.firmware.generator.lower.elementwise.add import arithmetic_s32
from arenite.firmware.generator.lower.elementwise.arithmetic_f32 import arithmetic_f32
from arenite.firmware.generator.lower.elementwise.binary import (
    Binary,
    plain_activation_range,
    require_activation,
)


@register
class Mul(Binary):
    op_name = "MUL"
    supports = "int8, int16, int32, float32; broadcasting; fused RELU, RELU6, RELU_N1_TO_1"
    kernels = ("arithmetic_f32.c", "arithmetic_s32.c", "broadcast.c", "mul_s16.c", "mul_s8.c")
    dtypes = ("int8", "int16", "int32", "float32")

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        require_activation(op)
        out = graph.tensors[op.outputs[0]]
        if out.dtype not in ("int32", "float32"):
            for t in (*self.operands(graph, op), out):
                require_quantized(op, t)

    def lower(self, ctx: LowerContext) -> KernelCall:
        (a, b), out = self.operands(ctx.graph, ctx.op), ctx.output()
        if out.dtype == "float32":
            return arithmetic_f32(self, ctx)
        fields = self.base_fields(ctx)
        activation = require_activation(ctx.op)
        if out.dtype == "int32":
            low, high = plain_activation_range(activation, "int32")
            return arithmetic_s32(fields | {"act_min": low, "act_max": high, "operation": Expr("AR_MUL_S32")})
        low, high = activation_range(activation, out)
        real = np.float32(a.scale) * np.float32(b.scale) / np.float32(out.scale)
        multiplier, shift = quantize_multiplier(float(real))
        fields |= {
            "multiplier": multiplier,
            "shift": shift,
            "offset1": -a.zero_point,
            "offset2": -b.zero_point,
            "output_offset": out.zero_point,
            "act_min": low,
            "act_max": high,
        }
        name = "mul_s16" if out.dtype == "int16" else "mul_s8"
        return KernelCall(f"ar_{name}", "mul.h", (f"{name}.c", "broadcast.c"), "ar_mul_params", fields)
