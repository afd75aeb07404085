"""Lower ADD and SUB of two int8 tensors of equal shape on Helium (MVE), computed as in ``affine_sum.py``."""

from __future__ import annotations

import math

from arenite.converters.graph.quantized_arithmetic import activation_range
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import variant
from arenite.firmware.generator.lower.elementwise.add_sum import SumVariant, affine_sum
from arenite.firmware.generator.target import MVE


class _AddMve(SumVariant):
    """The base class for both operators."""

    tiers = (MVE,)
    priority = 200
    kernels = ("add_s8_mve.c",)
    compact = True
    sum_row = "ar_add_s8_mve_row"

    def lower(self, ctx: LowerContext) -> KernelCall:
        out, solution = ctx.output(), require_accepted(affine_sum(ctx.graph, ctx.op))
        low, high = activation_range(int(ctx.op.options.get("fused_activation_function", 0)), out)
        fields = {
            "input1": ctx.input_ptr(0),
            "input2": ctx.input_ptr(1),
            "output": ctx.output_ptr(),
            "multiplier1": solution.multiplier1,
            "multiplier2": solution.multiplier2,
            "constant": solution.constant,
            "count": out.elements,
            "row": math.prod(out.shape[-2:]),
            "shift": solution.shift,
            "act_min": low,
            "act_max": high,
        }
        return KernelCall("ar_add_s8_mve", "add_s8_mve.h", self.kernels, "ar_add_mve_params", fields)


@variant
class AddMve(_AddMve):
    op_name = "ADD"


@variant
class SubMve(_AddMve):
    op_name = "SUB"
