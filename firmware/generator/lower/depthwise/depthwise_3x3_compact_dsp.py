"""Lower int8 DEPTHWISE_CONV_2D of 3x3 on cores with the DSP extension in builds for small flash."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext
from arenite.firmware.generator.lower.core.variant import variant
from arenite.firmware.generator.lower.depthwise.depthwise_compact_dsp import (
    GROUP,
    MAX_16,
    CompactPlane,
    DepthwiseCompactDsp,
    compact_plane,
)
from arenite.firmware.generator.target import Target


@variant
class Depthwise3x3CompactDsp(DepthwiseCompactDsp):
    priority = 160
    kernels = ("depthwise_3x3_compact_rows_s8_dsp.c", "depthwise_3x3_s8_compact_dsp.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if not super().can_run(graph, op, target) or graph.tensors[op.inputs[0]].shape[0] != 1:
            return False
        plane = compact_plane(graph, op)
        return plane.kernel == (3, 3) and plane.stride in ((1, 1), (2, 2)) and _size(plane) <= MAX_16

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return 4 * GROUP * _size(compact_plane(graph, op))

    def lower(self, ctx: LowerContext) -> KernelCall:
        fields = self.common_fields(ctx) | {"stride": compact_plane(ctx.graph, ctx.op).stride[0]}
        return KernelCall(
            "ar_depthwise_3x3_s8_compact_dsp",
            "depthwise_3x3_s8_compact_dsp.h",
            self.kernels,
            "ar_depthwise_3x3_compact_params",
            fields,
        )


def _size(plane: CompactPlane) -> int:
    """Return the words of a channel's scratch: its columns, and those by which their beginning moves."""
    stride = plane.stride[0]
    return plane.columns * (stride + 1) + (plane.output[0] - 1) // 2 * stride
