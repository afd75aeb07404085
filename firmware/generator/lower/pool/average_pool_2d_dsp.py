"""Lower int8 AVERAGE_POOL_2D on cores with the DSP extension."""

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
from arenite.firmware.generator.target import DSP, Target

#: The largest number of pixels in a window for which the sum of bytes fits into 16 bits.
_MAX_PIXELS = 256
#: The number of channels that are summed together.
_GROUP = 4
#: The file of the row function. The portable kernel computes single rows.
_ROWS = "average_pool_2d_s8.c"


@variant
class AveragePool2DDsp(Variant):
    op_name = "AVERAGE_POOL_2D"
    tiers = (DSP,)
    priority = 200
    kernels = ("average_pool_2d_s8_dsp.c",)

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, o = graph.tensors[op.inputs[0]], op.options
        if inp.dtype != "int8" or inp.shape[3] < _GROUP:
            return False
        return bool(
            min(o["filter_height"], inp.shape[1]) * min(o["filter_width"], inp.shape[2]) <= _MAX_PIXELS
        )

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        row_needs = LOWERINGS[op.name].rows(graph, op)
        return None if row_needs is None else replace(row_needs, sources=(_ROWS,))

    def lower(self, ctx: LowerContext) -> KernelCall:
        call = require_accepted(LOWERINGS[self.op_name].lower(ctx))
        return replace(call, kernel="ar_average_pool_2d_s8_dsp", sources=self.kernels)
