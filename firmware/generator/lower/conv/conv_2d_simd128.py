"""Lower CONV_2D for WebAssembly's 128-bit SIMD, and DEPTHWISE_CONV_2D of one input channel, which is a convolution over
all channels too."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.conv.gemm_layout_simd128 import gemm_fields
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted, u16
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.wide_affine import wide_convolution
from arenite.firmware.generator.target import SIMD128, Target

#: The largest height of a filter (AR_CONV_2D_SIMD128_ROWS), the largest number of segments of a window
#: (AR_GEMM_SIMD128_SEGMENTS), the number of pixels that are computed together, and the elements after the last pixel of
#: a line (AR_CONV_2D_SIMD128_SLACK).
_MAX_ROWS, _MAX_SEGMENTS, _PIXELS, SLACK = 16, 64, 4, 16
_MAX_BYTE = 255


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
        _, k_h, _, in_c = self._shape(graph, op)
        if inp.dtype != "int8" or inp.shape[3] != in_c or k_h > _MAX_ROWS:
            return False
        if max(*inp.shape, *out.shape) > 0xFFFF:
            return False
        dilation = (op.options.get("dilation_h_factor", 1), op.options.get("dilation_w_factor", 1))
        if self._segments(graph, op) > _MAX_SEGMENTS:
            return False
        return max(dilation) <= _MAX_BYTE and wide_convolution(graph, op, self.axis) is not None

    def _segments(self, graph: Subgraph, op: Op) -> int:
        """Return the number of runs of neighboring inputs in a window: its rows, or its taps if it is dilated
        horizontally."""
        _, k_h, k_w, _ = self._shape(graph, op)
        return k_h if op.options.get("dilation_w_factor", 1) == 1 else k_h * k_w

    def _line(self, graph: Subgraph, op: Op) -> int:
        """Return the number of elements of a line, which is a copy of an input row with its padding."""
        view = view_convolution(graph, op)
        columns = (view.output.shape[2] - 1) * view.stride[1] + (view.kernel[1] - 1) * view.dilation[1] + 1
        return columns * view.input.shape[3] + SLACK

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        view = view_convolution(graph, op)
        if view.kernel == (1, 1) and view.stride == (1, 1):
            return 2 * (_PIXELS * view.input.shape[3] + SLACK)
        return 2 * ((view.kernel[0] - 1) * view.dilation[0] + 1) * self._line(graph, op)

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0) for filters of one tap if the output has no more channels than the input: the kernel widens a
        block of pixels before it writes their outputs, which then do not reach beyond the block."""
        out_c, k_h, k_w, in_c = self._shape(graph, op)
        return ((0, 0),) if k_h * k_w == 1 and out_c <= in_c else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, view = ctx.op, view_convolution(ctx.graph, ctx.op)
        inp, out = view.input, view.output
        layer = require_accepted(wide_convolution(ctx.graph, op, self.axis))
        out_c, k_h, k_w, in_c = self._shape(ctx.graph, op)
        filters = np.moveaxis(layer.weights, self.axis, 0).reshape(out_c, self._segments(ctx.graph, op), -1)
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "lines": ctx.scratch_ptr(),
            "gemm": gemm_fields(ctx, filters, layer),
            "line": self._line(ctx.graph, op),
            "batches": inp.shape[0],
            "in_h": inp.shape[1],
            "in_w": inp.shape[2],
            "in_c": in_c,
            "out_h": out.shape[1],
            "out_w": out.shape[2],
            "k_h": k_h,
            "k_w": u16(op, k_w, "kernel width"),
            "pad_top": u16(op, view.padding[0], "padding"),
            "pad_left": u16(op, view.padding[1], "padding"),
            "stride_h": view.stride[0],
            "stride_w": view.stride[1],
            "dilation_h": view.dilation[0],
            "dilation_w": view.dilation[1],
            "padding": inp.zero_point,
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
