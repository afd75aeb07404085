"""Lower ADD, SUB, MUL and DIV of float32 tensors. They offset and scale the features of a model before its QUANTIZE."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.quantized_arithmetic import NONE, RELU, RELU6, RELU_N1_TO_1
from arenite.firmware.generator.lower.core.lowering import Expr, KernelCall, LowerContext
from arenite.firmware.generator.lower.elementwise.arithmetic import c_float
from arenite.firmware.generator.lower.elementwise.binary import Binary, require_activation

_LARGEST = float(np.finfo(np.float32).max)
#: The limits of a fused activation. LiteRT clamps infinity to the largest number if there is none.
_LIMITS = {NONE: (-_LARGEST, _LARGEST), RELU: (0.0, _LARGEST), RELU6: (0.0, 6.0), RELU_N1_TO_1: (-1.0, 1.0)}


def arithmetic_f32(lowering: Binary, ctx: LowerContext) -> KernelCall:
    """Return the call of the float32 kernel for the operator of ``ctx``."""
    low, high = _LIMITS[require_activation(ctx.op)]
    fields = lowering.base_fields(ctx) | {
        "act_min": c_float(low),
        "act_max": c_float(high),
        "operation": Expr(f"AR_{ctx.op.name}_F32"),
    }
    sources = ("arithmetic_f32.c", "broadcast.c")
    return KernelCall("ar_arithmetic_f32", "arithmetic_f32.h", sources, "ar_arithmetic_f32_params", fields)
