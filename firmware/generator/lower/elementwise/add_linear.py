"""Lower ADD and SUB of two int8 tensors that do not broadcast, computed as in ``affine_sum.py``."""

from __future__ import annotations

from dataclasses import asdict
from typing import ClassVar

from arenite.converters.graph.quantized_arithmetic import activation_range
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import variant
from arenite.firmware.generator.lower.elementwise.add_sum import SumVariant, affine_sum
from arenite.firmware.generator.target import TIERS


class Linear(SumVariant):
    """The base class for both operators."""

    tiers: ClassVar[tuple[str, ...]] = TIERS
    priority = 50
    kernels = ("add_s8_linear.c",)
    sum_row = "ar_add_s8_linear_row"

    def lower(self, ctx: LowerContext) -> KernelCall:
        solved, out = require_accepted(affine_sum(ctx.graph, ctx.op)), ctx.output()
        low, high = activation_range(int(ctx.op.options.get("fused_activation_function", 0)), out)
        fields = {
            "input1": ctx.input_ptr(0),
            "input2": ctx.input_ptr(1),
            "output": ctx.output_ptr(),
            "count": out.elements,
            **asdict(solved),
            "act_min": low,
            "act_max": high,
        }
        return KernelCall("ar_add_s8_linear", "add_linear.h", self.kernels, "ar_add_linear_params", fields)


@variant
class AddLinear(Linear):
    op_name = "ADD"


@variant
class SubLinear(Linear):
    op_name = "SUB"
