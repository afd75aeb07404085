"""ADD and SUB of two int8 tensors of one shape, see ``linear_add.py``."""

from __future__ import annotations

from arenite.converters.graph import Op, Subgraph
from arenite.converters.planner.streaming.needs import RowNeeds
from arenite.firmware.generator.linear_add import LinearAdd, Scaling, linear_add
from arenite.firmware.generator.lower.add import AddLike, common_scales
from arenite.firmware.generator.lower.base import LOWERINGS, KernelCall, LowerContext
from arenite.firmware.generator.lower.rows import elementwise_rows
from arenite.firmware.generator.lower.variant import Variant, variant
from arenite.firmware.generator.quant import activation_range, quantize_multiplier
from arenite.firmware.generator.target import TIERS, Target

#: Bits that the reference gains before it scales int8 inputs.
_LEFT = 20


def _solve(graph: Subgraph, op: Op) -> LinearAdd | None:
    lowering = LOWERINGS[op.name]
    assert isinstance(lowering, AddLike)
    inputs, out = lowering.operands(graph, op), graph.tensors[op.outputs[0]]
    if out.dtype != "int8" or any(t.shape != out.shape for t in inputs) or not out.elements:
        return None
    scales = common_scales(inputs, out, _LEFT)
    pairs = [quantize_multiplier(s) for s in (scales.input1, scales.input2, scales.output)]
    if any(shift > 0 for _, shift in pairs):
        return None
    scalings = (
        Scaling(pairs[0][0], -pairs[0][1]),
        Scaling(pairs[1][0], -pairs[1][1]),
        Scaling(pairs[2][0], -pairs[2][1]),
    )
    zero_points = (inputs[0].zero_point, inputs[1].zero_point, out.zero_point)
    act = activation_range(op.options["fused_activation_function"], out)
    return linear_add(scalings, zero_points, lowering.sign2, _LEFT, act)


class _Linear(Variant):
    tiers = TIERS
    priority = 50
    kernels = ("add_s8_linear.c",)

    def suits(self, graph: Subgraph, op: Op, target: Target) -> bool:
        return _solve(graph, op) is not None

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        return ((0, 0), (1, 0))

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowNeeds | None:
        found = elementwise_rows(graph, op, "ar_add_s8_linear_row")
        return found if found is not None and len(found.inputs) == 2 else None

    def lower(self, ctx: LowerContext) -> KernelCall:
        solved, out = _solve(ctx.graph, ctx.op), ctx.output()
        assert solved is not None
        low, high = activation_range(ctx.op.options["fused_activation_function"], out)
        fields = {
            "input1": ctx.input_ptr(0),
            "input2": ctx.input_ptr(1),
            "output": ctx.output_ptr(),
            "count": out.elements,
            **vars(solved),
            "act_min": low,
            "act_max": high,
        }
        sources = ("add_s8_linear.c",)
        return KernelCall("ar_add_s8_linear", "add_linear.h", sources, "ar_add_linear_params", fields)


@variant
class AddLinear(_Linear):
    op_name = "ADD"


@variant
class SubLinear(_Linear):
    op_name = "SUB"
