"""Lower CONV_2D for WebAssembly's 128-bit SIMD, and DEPTHWISE_CONV_2D of one input channel, which is a convolution over
all channels too."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.conv_2d_scalar import Geometry, geometry
from arenite.firmware.generator.lower.conv.gemm_layout_simd128 import gemm_fields
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.wide_affine import wide_convolution
from arenite.firmware.generator.target import SIMD128, Target

#: The largest height of a filter (AR_CONV_2D_SIMD128_ROWS), the largest number of segments of a window
#: (AR_GEMM_SIMD128_SEGMENTS), the number of pixels that are computed together, and the elements after the last pixel of
#: a line (AR_CONV_2D_SIMD128_SLACK).
_MAX_ROWS, _MAX_SEGMENTS, _PIXELS, SLACK = 16, 64, 4, 16
_MAX_BYTE = 255


def geometry_simd128(graph: Subgraph, op: Op, target: Target) -> Geometry:
    """Return the sizes of a CONV_2D or DEPTHWISE_CONV_2D. The kernels compute neighboring pixels of a row together, so
    an image of one column is transposed, unless the copy of all its pixels would need too much RAM for the goal."""
    return geometry(graph, op, transpose=target.optimise != "ram")


def _segments(g: Geometry) -> int:
    """Return the number of runs of neighboring inputs in a window: its rows, or its taps if it is dilated
    horizontally."""
    return g.k_h if g.dilation_w == 1 else g.k_h * g.k_w


def _line(g: Geometry) -> int:
    """Return the number of elements of a line, which is a copy of an input row with its padding."""
    return ((g.out_w - 1) * g.stride_w + (g.k_w - 1) * g.dilation_w + 1) * g.in_c + SLACK


class _Convolution(Variant):
    """The base class of the convolutions. ``axis`` is the axis of the output channels in the weights."""

    tiers = (SIMD128,)
    priority = 200
    kernels = ("conv_2d_s8_simd128.c", "gemm_s8_simd128.c")
    row_function = "ar_conv_2d_s8_simd128_row"
    axis: ClassVar[int]

    def _shape(self, graph: Subgraph, op: Op) -> tuple[int, int, int, int]:
        """Return the shape (out_c, k_h, k_w, in_c) of the filters."""
        shape = graph.tensors[op.inputs[1]].shape
        return shape[self.axis], shape[1], shape[2], shape[3] if self.axis == 0 else 1

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        if inp.dtype != "int8" or inp.shape[3] != self._shape(graph, op)[3]:
            return False
        if max(*inp.shape, *out.shape) > 0xFFFF:
            return False
        g = geometry_simd128(graph, op, target)
        if g.k_h > _MAX_ROWS or _segments(g) > _MAX_SEGMENTS:
            return False
        if max(g.k_w, g.pad_top, g.pad_left) > 0xFFFF or max(g.dilation_h, g.dilation_w) > _MAX_BYTE:
            return False
        return wide_convolution(graph, op, self.axis) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        g = geometry_simd128(graph, op, target)
        if (g.k_h, g.k_w, g.stride_h, g.stride_w) == (1, 1, 1, 1):
            return 2 * (_PIXELS * g.in_c + SLACK)
        return 2 * ((g.k_h - 1) * g.dilation_h + 1) * _line(g)

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0) for filters of one tap if the output has no more channels than the input: the kernel widens a
        block of pixels before it writes their outputs, which then do not reach beyond the block."""
        out_c, k_h, k_w, in_c = self._shape(graph, op)
        return ((0, 0),) if k_h * k_w == 1 and out_c <= in_c else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        g = geometry_simd128(ctx.graph, ctx.op, ctx.target)
        layer = require_accepted(wide_convolution(ctx.graph, ctx.op, self.axis))
        filters = np.moveaxis(layer.weights, self.axis, 0).reshape(g.out_c, _segments(g), -1)
        sizes = g.fields()
        del sizes["out_c"]  # it is in gemm
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "lines": ctx.scratch_ptr(),
            "gemm": gemm_fields(ctx, filters, layer),
            "line": _line(g),
            **sizes,
            "padding": ctx.graph.tensors[ctx.op.inputs[0]].zero_point,
        }
        return KernelCall(
            "ar_conv_2d_s8_simd128",
            "conv_2d_s8_simd128.h",
            self.kernels,
            "ar_conv_2d_simd128_params",
            fields,
        )


@variant
class Conv2DSimd128(_Convolution):
    op_name = "CONV_2D"
    axis = 0


@variant
class DepthwiseOfOneChannelSimd128(_Convolution):
    op_name = "DEPTHWISE_CONV_2D"
    axis = 3
    priority = 210
