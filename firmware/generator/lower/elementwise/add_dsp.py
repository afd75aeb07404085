"""Lower int8 ADD and SUB on cores with the DSP extension. The kernel computes the formula of ``add_linear.py`` for four
elements at a time."""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.lower.elementwise.add_linear import AddLinear, SubLinear
from arenite.firmware.generator.lower.elementwise.add_sum import affine_sum
from arenite.firmware.generator.target import DSP, Target

#: The multipliers must be smaller than this, because the kernel multiplies by 256 times the multipliers in int32.
_LIMIT = 1 << 23


class _LinearDsp(Variant):
    """The base class for both operators. ``portable`` is the variant with the same parameters for any core."""

    tiers = (DSP,)
    priority = 200
    kernels = ("add_s8_dsp.c",)
    compact = True
    portable: Variant

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if not self.portable.can_run(graph, op, target):
            return False
        solved = affine_sum(graph, op)
        return solved is not None and max(abs(solved.multiplier1), abs(solved.multiplier2)) < _LIMIT

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        return self.portable.in_place(graph, op, target)

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        row_needs = self.portable.rows(graph, op, target)
        return None if row_needs is None else replace(row_needs, function="ar_add_s8_dsp_row")

    def lower(self, ctx: LowerContext) -> KernelCall:
        return replace(self.portable.lower(ctx), kernel="ar_add_s8_dsp", sources=self.kernels)


@variant
class AddDsp(_LinearDsp):
    op_name = "ADD"
    portable = AddLinear()


@variant
class SubDsp(_LinearDsp):
    op_name = "SUB"
    portable = SubLinear()
