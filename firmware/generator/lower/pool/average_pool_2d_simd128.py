"""Lower AVERAGE_POOL_2D for WebAssembly's 128-bit SIMD."""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.core.lowering import (
    LOWERINGS,
    KernelCall,
    LowerContext,
    require_accepted,
)
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.target import SIMD128, Target

#: The largest number of pixels of -128 whose sum fits into int16.
_MAX_PIXELS = 255
#: The smallest number of channels that fills half of a vector.
_MIN_CHANNELS = 4
#: The file of the row function. The portable kernel computes single rows.
_ROWS = "average_pool_2d_s8.c"


@variant
class AveragePoolSimd128(Variant):
    op_name = "AVERAGE_POOL_2D"
    tiers = (SIMD128,)
    priority = 200
    kernels = ("average_pool_2d_s8_simd128.c",)

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, o = graph.tensors[op.inputs[0]], op.options
        if inp.dtype != "int8" or inp.data is not None or inp.shape[3] < _MIN_CHANNELS:
            return False
        pixels = min(o["filter_height"], inp.shape[1]) * min(o["filter_width"], inp.shape[2])
        return bool(pixels <= _MAX_PIXELS)

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        row_needs = LOWERINGS[op.name].rows(graph, op)
        return None if row_needs is None else replace(row_needs, sources=(_ROWS,))

    def lower(self, ctx: LowerContext) -> KernelCall:
        call = require_accepted(LOWERINGS[self.op_name].lower(ctx))
        return replace(
            call,
            kernel="ar_average_pool_2d_s8_simd128",
            header="average_pool_2d_s8_simd128.h",
            sources=self.kernels,
        )
