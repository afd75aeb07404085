"""Lower DEPTHWISE_CONV_2D for WebAssembly's 128-bit SIMD, if each output channel has its own input channel."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.conv_2d_scalar import Geometry
from arenite.firmware.generator.lower.conv.conv_2d_simd128 import geometry_simd128
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
        g = geometry_simd128(graph, op, target)
        # Half of the products of a filter of one tap would be with 0.
        if not 1 < g.k_h * g.k_w <= _MAX_TAPS:
            return False
        if max(g.dilation_h, g.dilation_w, g.pad_top, g.pad_left) > _MAX_BYTE:
            return False
        return wide_convolution(graph, op, 3) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        g = geometry_simd128(graph, op, target)
        return 2 * _lines(g) * _line(g)

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0) if output rows are not longer than input rows, for one image: an output row overwrites input
        rows only after they have been widened."""
        g = geometry_simd128(graph, op, target)
        fits = g.batches == 1 and g.out_w <= g.in_w and g.out_h <= g.in_h
        # Otherwise padding above the image could delay the widening of a row.
        covers = g.pad_top < _lines(g)
        return ((0, 0),) if fits and covers else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        g = geometry_simd128(ctx.graph, ctx.op, ctx.target)
        layer = require_accepted(wide_convolution(ctx.graph, ctx.op, 3))
        sizes = g.fields()
        sizes["channels"] = sizes.pop("in_c")
        del sizes["out_c"]  # the same
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "lines": ctx.scratch_ptr(),
            "weights": ctx.weights(pack_taps(layer.weights), "weights"),
            "requant": requant_fields(ctx, layer),
            "line": _line(g),
            **sizes,
            "padding": ctx.graph.tensors[ctx.op.inputs[0]].zero_point,
        }
        return KernelCall(
            "ar_depthwise_conv_2d_s8_simd128",
            "depthwise_conv_2d_s8_simd128.h",
            self.kernels,
            "ar_depthwise_simd128_params",
            fields,
        )


def _lines(g: Geometry) -> int:
    """Return the number of lines: the rows under a window."""
    return (g.k_h - 1) * g.dilation_h + 1


def _line(g: Geometry) -> int:
    """Return the number of elements of a line, which is an input row widened to int16, with its padding."""
    return ((g.out_w - 1) * g.stride_w + (g.k_w - 1) * g.dilation_w + 1) * g.in_c + _SLACK


def pack_taps(weights: np.ndarray) -> np.ndarray:
    """Return weights, int [1, k_h, k_w, channels], as int8 [groups of channels, pairs of taps, 8 channels,
    2 taps], filled up with zeros."""
    channels = weights.shape[3]
    taps = weights.reshape(-1, channels)
    padded = np.pad(taps, ((0, len(taps) % 2), (0, -channels % GROUP)))
    blocks = padded.reshape(len(padded) // 2, 2, -1, GROUP).transpose(2, 0, 3, 1)
    return np.ascontiguousarray(blocks).astype(np.int8)
