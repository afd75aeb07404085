"""The base class of the ADD and SUB kernels that compute the formula of ``affine_sum.py``."""

from __future__ import annotations

from typing import ClassVar

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import activation_range
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.core.lowering import LOWERINGS
from arenite.firmware.generator.lower.core.row_functions import elementwise_rows
from arenite.firmware.generator.lower.core.variant import Variant
from arenite.firmware.generator.lower.elementwise.add import AddLike, scaled_fields
from arenite.firmware.generator.requant.affine_sum import AddScaling, AffineSum, solve_sum
from arenite.firmware.generator.target import Target


def affine_sum(graph: Subgraph, op: Op) -> AffineSum | None:
    """Return the integers of ``affine_sum.py`` for an int8 ADD or SUB that its lowering's ``check`` has accepted.

    Returns None if no integers give LiteRT's outputs.
    """
    lowering = LOWERINGS[op.name]
    assert isinstance(lowering, AddLike)
    inputs, out = lowering.operands(graph, op), graph.tensors[op.outputs[0]]
    fields = scaled_fields(lowering.scales(inputs, out), inputs, out)
    return solve_sum(
        AddScaling(
            (fields["multiplier1"], fields["multiplier2"], fields["output_multiplier"]),
            (fields["shift1"], fields["shift2"], fields["output_shift"]),
            (inputs[0].zero_point, inputs[1].zero_point, out.zero_point),
            activation_range(int(op.options.get("fused_activation_function", 0)), out),
            lowering.sign2,
        )
    )


class SumVariant(Variant):
    """A kernel that adds or subtracts two int8 tensors with as many elements as the output. It can run if
    ``affine_sum`` has integers that give LiteRT's outputs."""

    #: The kernel's C function for one output row.
    sum_row: ClassVar[str]

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        first, second, out = (graph.tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
        # Shapes that broadcast and have equally many elements differ only in dimensions of size 1.
        if out.dtype != "int8" or first.elements != out.elements or second.elements != out.elements:
            return False
        return affine_sum(graph, op) is not None

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        return LOWERINGS[op.name].in_place(graph, op)

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        row_needs = elementwise_rows(graph, op, self.sum_row)
        return row_needs if row_needs is not None and len(row_needs.inputs) == 2 else None
