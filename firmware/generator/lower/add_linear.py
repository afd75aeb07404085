"""ADD and SUB of two int8 tensors of one shape, see ``affine_sum.py``."""

from __future__ import annotations

from dataclasses import asdict

from arenite.converters.graph import Op, Subgraph
from arenite.converters.planner.streaming.needs import RowNeeds
from arenite.firmware.generator.lower.add_mve import affine_sum
from arenite.firmware.generator.lower.base import LOWERINGS, KernelCall, LowerContext
from arenite.firmware.generator.lower.rows import elementwise_rows
from arenite.firmware.generator.lower.variant import Variant, variant
from arenite.firmware.generator.quant import activation_range
from arenite.firmware.generator.target import TIERS, Target


class _Linear(Variant):
    tiers = TIERS
    priority = 50
    kernels = ("add_s8_linear.c",)

    def suits(self, graph: Subgraph, op: Op, target: Target) -> bool:
        first, second, out = (graph.tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
        if out.dtype != "int8" or first.shape != out.shape or second.shape != out.shape:
            return False
        return affine_sum(graph, op) is not None

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        return LOWERINGS[op.name].in_place(graph, op)

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowNeeds | None:
        found = elementwise_rows(graph, op, "ar_add_s8_linear_row")
        return found if found is not None and len(found.inputs) == 2 else None

    def lower(self, ctx: LowerContext) -> KernelCall:
        solved, out = affine_sum(ctx.graph, ctx.op), ctx.output()
        assert solved is not None
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
class AddLinear(_Linear):
    op_name = "ADD"


@variant
class SubLinear(_Linear):
    op_name = "SUB"
