"""ADD and SUB of int8 tensors of one shape for Helium, where one multiply-add gives every output."""

from __future__ import annotations

import math

from arenite.converters.graph import Op, Subgraph
from arenite.converters.planner.streaming.needs import RowNeeds
from arenite.firmware.generator.affine_sum import AddScaling, AffineSum, solve_sum
from arenite.firmware.generator.lower.add import AddLike, scaled_fields
from arenite.firmware.generator.lower.base import LOWERINGS, KernelCall, LowerContext
from arenite.firmware.generator.lower.rows import elementwise_rows
from arenite.firmware.generator.lower.variant import Variant, variant
from arenite.firmware.generator.quant import activation_range
from arenite.firmware.generator.target import MVE, Target


def affine_sum(graph: Subgraph, op: Op) -> AffineSum | None:
    """The proven integers of an int8 ADD or SUB that its lowering's ``check`` has accepted."""
    lowering = LOWERINGS[op.name]
    assert isinstance(lowering, AddLike)
    inputs, out = lowering.operands(graph, op), graph.tensors[op.outputs[0]]
    given = scaled_fields(lowering.scales(inputs, out), inputs, out)
    return solve_sum(
        AddScaling(
            (given["multiplier1"], given["multiplier2"], given["output_multiplier"]),
            (given["shift1"], given["shift2"], given["output_shift"]),
            (inputs[0].zero_point, inputs[1].zero_point, out.zero_point),
            activation_range(int(op.options.get("fused_activation_function", 0)), out),
            lowering.sign2,
        )
    )


class _AddMve(Variant):
    tiers = (MVE,)
    priority = 200
    kernels = ("add_s8_mve.c",)

    def suits(self, graph: Subgraph, op: Op, target: Target) -> bool:
        first, second, out = (graph.tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
        if out.dtype != "int8" or first.shape != out.shape or second.shape != out.shape:
            return False
        return affine_sum(graph, op) is not None

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        return LOWERINGS[op.name].in_place(graph, op)

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowNeeds | None:
        found = elementwise_rows(graph, op, "ar_add_s8_mve_row")
        return found if found is not None and len(found.inputs) == 2 else None

    def lower(self, ctx: LowerContext) -> KernelCall:
        out, found = ctx.output(), affine_sum(ctx.graph, ctx.op)
        assert found is not None
        low, high = activation_range(int(ctx.op.options.get("fused_activation_function", 0)), out)
        fields = {
            "input1": ctx.input_ptr(0),
            "input2": ctx.input_ptr(1),
            "output": ctx.output_ptr(),
            "multiplier1": found.multiplier1,
            "multiplier2": found.multiplier2,
            "constant": found.constant,
            "count": out.elements,
            "row": math.prod(out.shape[-2:]),
            "shift": found.shift,
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
