"""Lower FULLY_CONNECTED for WebAssembly's 128-bit SIMD, as a convolution with filters of one tap."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.gemm_layout_simd128 import gemm_fields
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.wide_affine import wide_fully_connected
from arenite.firmware.generator.target import SIMD128, Target

#: The number of pixels that are computed together, and the elements after the last patch.
_PIXELS, _SLACK = 4, 16


@variant
class FullyConnectedSimd128(Variant):
    op_name = "FULLY_CONNECTED"
    tiers = (SIMD128,)
    priority = 200
    kernels = ("conv_2d_s8_simd128.c", "gemm_s8_simd128.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        if inp.dtype != "int8" or w.data is None or max(w.shape[1], out.elements // w.shape[0]) > 0xFFFF:
            return False
        return wide_fully_connected(graph, op) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        depth = graph.tensors[op.inputs[1]].shape[1]
        return 2 * (_PIXELS * depth + _SLACK)

    def lower(self, ctx: LowerContext) -> KernelCall:
        layer = require_accepted(wide_fully_connected(ctx.graph, ctx.op))
        units, depth = layer.weights.shape
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "lines": ctx.scratch_ptr(),
            "gemm": gemm_fields(ctx, layer.weights[:, None, :], layer),
            "batches": ctx.output().elements // units,
            "in_c": depth,
            **dict.fromkeys(("in_h", "in_w", "out_h", "out_w", "k_h", "k_w"), 1),
            **dict.fromkeys(("stride_h", "stride_w", "dilation_h", "dilation_w"), 1),
            "line": 0,  # not used
            **dict.fromkeys(("pad_top", "pad_left", "padding"), 0),
        }
        return KernelCall(
            "ar_conv_2d_s8_simd128",
            "conv_2d_s8_simd128.h",
            self.kernels,
            "ar_conv_2d_simd128_params",
            fields,
        )
