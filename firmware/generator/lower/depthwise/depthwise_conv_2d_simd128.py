"""Lower DEPTHWISE_CONV_2D for WebAssembly's 128-bit SIMD, if each output channel has its own input channel."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.lower.core.wide_requantization import GROUP, requant_fields
from arenite.firmware.generator.requant.wide_affine import wide_convolution
from arenite.firmware.generator.target import SIMD128, Target

#: The largest number of taps (AR_DEPTHWISE_SIMD128_TAPS), and the elements after a line.
_MAX_TAPS, _SLACK = 64, 8
_MAX_BYTE = 255


@variant
class DepthwiseSimd128(Variant):
    op_name = "DEPTHWISE_CONV_2D"
    tiers = (SIMD128,)
    priority = 200
    kernels = ("depthwise_conv_2d_s8_simd128.c",)
    row_function = "ar_depthwise_conv_2d_s8_simd128_row"

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        if inp.dtype != "int8" or inp.shape[3] != out.shape[3] or max(*inp.shape, *out.shape) > 0xFFFF:
            return False
        view = view_convolution(graph, op)
        k_h, k_w = view.kernel
        # Half of the products of a filter of one tap would be with 0.
        if not 1 < k_h * k_w <= _MAX_TAPS or max(*view.dilation, *view.padding) > _MAX_BYTE:
            return False
        return wide_convolution(graph, op, 3) is not None

    def _line(self, graph: Subgraph, op: Op) -> int:
        """Return the number of elements of a line, which is an input row widened to int16, with its padding."""
        view = view_convolution(graph, op)
        columns = (view.output.shape[2] - 1) * view.stride[1] + (view.kernel[1] - 1) * view.dilation[1] + 1
        return columns * view.input.shape[3] + _SLACK

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        view = view_convolution(graph, op)
        lines = (view.kernel[0] - 1) * view.dilation[0] + 1
        return 2 * lines * self._line(graph, op)

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0) if output rows are not longer than input rows, for one image: an output row overwrites input
        rows only after they have been widened."""
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        view = view_convolution(graph, op)
        fits = out.shape[0] == 1 and out.shape[2] <= inp.shape[2] and out.shape[1] <= inp.shape[1]
        # Otherwise padding above the image could delay the widening of a row.
        covers = view.padding[0] <= (view.kernel[0] - 1) * view.dilation[0]
        return ((0, 0),) if fits and covers else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        view = view_convolution(ctx.graph, ctx.op)
        inp, out = view.input, view.output
        layer = require_accepted(wide_convolution(ctx.graph, ctx.op, 3))
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "lines": ctx.scratch_ptr(),
            "weights": ctx.weights(pack_taps(layer.weights), "weights"),
            "requant": requant_fields(ctx, layer),
            "line": self._line(ctx.graph, ctx.op),
            "batches": inp.shape[0],
            "in_h": inp.shape[1],
            "in_w": inp.shape[2],
            "channels": inp.shape[3],
            "out_h": out.shape[1],
            "out_w": out.shape[2],
            "pad_top": view.padding[0],
            "pad_left": view.padding[1],
            "k_h": view.kernel[0],
            "k_w": view.kernel[1],
            "stride_h": view.stride[0],
            "stride_w": view.stride[1],
            "dilation_h": view.dilation[0],
            "dilation_w": view.dilation[1],
            "padding": inp.zero_point,
        }
        return KernelCall(
            "ar_depthwise_conv_2d_s8_simd128",
            "depthwise_conv_2d_s8_simd128.h",
            self.kernels,
            "ar_depthwise_simd128_params",
            fields,
        )


def pack_taps(weights: np.ndarray) -> np.ndarray:
    """Return weights, int [1, k_h, k_w, channels], as int8 [groups of channels, pairs of taps, 8 channels,
    2 taps], filled up with zeros."""
    channels = weights.shape[3]
    taps = weights.reshape(-1, channels)
    padded = np.pad(taps, ((0, len(taps) % 2), (0, -channels % GROUP)))
    blocks = padded.reshape(len(padded) // 2, 2, -1, GROUP).transpose(2, 0, 3, 1)
    return np.ascontiguousarray(blocks).astype(np.int8)
