"""Lower MAX_POOL_2D for WebAssembly's 128-bit SIMD."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.core.lowering import (
    LOWERINGS,
    KernelCall,
    LowerContext,
    require_accepted,
)
from arenite.firmware.generator.lower.core.row_functions import pool_rows
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.target import SIMD128, Target

#: The largest height of a window: AR_MAX_POOL_SIMD128_ROWS.
_MAX_ROWS = 32
#: The smallest number of channels that fills half of a vector.
_MIN_CHANNELS = 8


@variant
class MaxPoolSimd128(Variant):
    op_name = "MAX_POOL_2D"
    tiers = (SIMD128,)
    priority = 200
    kernels = ("max_pool_2d_s8_simd128.c",)

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp = graph.tensors[op.inputs[0]]
        fits = inp.dtype == "int8" and inp.data is None and inp.shape[3] >= _MIN_CHANNELS
        return fits and int(op.options["filter_height"]) <= _MAX_ROWS

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        return pool_rows(graph, op, "ar_max_pool_2d_s8_simd128_row")

    def lower(self, ctx: LowerContext) -> KernelCall:
        plain = require_accepted(LOWERINGS[self.op_name].lower(ctx))
        return KernelCall(
            "ar_max_pool_2d_s8_simd128",
            "max_pool_2d_s8_simd128.h",
            self.kernels,
            "ar_pool_2d_params",
            plain.fields,
        )
