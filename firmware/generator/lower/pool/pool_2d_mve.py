"""Lower AVERAGE_POOL_2D and MAX_POOL_2D for Helium."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.core.lowering import (
    LOWERINGS,
    KernelCall,
    LowerContext,
    require_accepted,
)
from arenite.firmware.generator.lower.core.row_functions import accumulating_rows, pool_rows
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.target import MVE, Target

#: Bytes of an address, also on a 64-bit computer.
_ADDRESS = 8
#: The largest number of pixels of -128 whose sum fits into int16.
_MAX_PIXELS = 255

#: Builds for small flash use the kernel for inputs of at least this many values: it takes 330 bytes more than the plain
#: one, and saves 14 instructions for each value (measured).
_LEAST_VALUES = 6144


class _PoolMve(Variant):
    """The base class for both operators."""

    tiers = (MVE,)
    priority = 200
    kernel: ClassVar[str]

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        return graph.tensors[op.inputs[0]].dtype == "int8"

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of the addresses of a window's rows."""
        return int(op.options["filter_height"]) * _ADDRESS

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        row_needs = pool_rows(graph, op, f"ar_{self.kernel}_row")
        return None if row_needs is None else replace(row_needs, scratch=self.scratch(graph, op, target))

    def lower(self, ctx: LowerContext) -> KernelCall:
        plain = require_accepted(LOWERINGS[self.op_name].lower(ctx))
        return KernelCall(
            f"ar_{self.kernel}",
            "pool_2d_s8_mve.h",
            self.kernels,
            "ar_pool_2d_mve_params",
            {"pool": plain.fields, "rows": ctx.scratch_ptr()},
        )


@variant
class AveragePoolMve(_PoolMve):
    op_name = "AVERAGE_POOL_2D"
    compact = True
    kernel = "average_pool_2d_s8_mve"
    kernels = ("average_pool_2d_s8_mve.c",)

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        pixels = op.options["filter_height"] * op.options["filter_width"]
        if target.optimise == "flash" and graph.tensors[op.inputs[0]].elements < _LEAST_VALUES:
            return False
        return super().can_run(graph, op, target) and pixels <= _MAX_PIXELS

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        inp, o = graph.tensors[op.inputs[0]], op.options
        is_global = (o["filter_height"], o["filter_width"]) == inp.shape[1:3]
        if not is_global or graph.tensors[op.outputs[0]].elements != inp.shape[3]:
            return super().rows(graph, op, target)
        row_needs = accumulating_rows(graph, op, "ar_average_pool_2d_s8_mve_add")
        return None if row_needs is None else replace(row_needs, scratch=self.scratch(graph, op, target))


@variant
class MaxPoolMve(_PoolMve):
    op_name = "MAX_POOL_2D"
    kernel = "max_pool_2d_s8_mve"
    kernels = ("max_pool_2d_s8_mve.c",)
