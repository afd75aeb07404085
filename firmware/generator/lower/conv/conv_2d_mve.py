"""Lower CONV_2D for Helium, and DEPTHWISE_CONV_2D of one input channel, which is a convolution over all channels
too."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.conv.gemm_layout_mve import gemm_fields, requantization
from arenite.firmware.generator.lower.core.lowering import (
    NULL,
    KernelCall,
    LowerContext,
    require_accepted,
    u16,
)
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.target import MVE, Target

#: The number of filters that the inner product computes together, and the largest height of a filter
#: (AR_CONV_2D_MVE_ROWS).
_GROUP, _MAX_ROWS = 4, 16
#: For each goal of the build: the bytes of windows that are copied side by side before they are multiplied. With more
#: windows, a group of filters is set up less often. The inner product needs at least two windows for full speed.
_PATCH_BYTES = {"speed": 2048, "balanced": 1024, "ram": 384}


class _Convolution(Variant):
    """The base class of the convolutions."""

    tiers = (MVE,)
    priority = 200
    kernels = ("conv_2d_s8_mve.c", "gemm_s8_mve.c")
    row_function = "ar_conv_2d_s8_mve_row"
    channel_axis: ClassVar[int]  # the axis of the output channels in the weights

    def filters(self, graph: Subgraph, op: Op) -> np.ndarray:
        """Return the weights as [out_c, k_h, k_w, in_c]."""
        return np.moveaxis(view_convolution(graph, op).filters, self.channel_axis, 0).reshape(
            self._shape(graph, op)
        )

    def _shape(self, graph: Subgraph, op: Op) -> tuple[int, int, int, int]:
        """Return the shape (out_c, k_h, k_w, in_c) of the filters."""
        shape = graph.tensors[op.inputs[1]].shape
        return (
            shape[self.channel_axis],
            shape[1],
            shape[2],
            shape[3] if self.channel_axis == 0 else 1,
        )

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp = graph.tensors[op.inputs[0]]
        out_c, k_h, k_w, in_c = self._shape(graph, op)
        if inp.dtype != "int8" or inp.shape[3] != in_c or out_c < _GROUP or k_h > _MAX_ROWS:
            return False
        if op.options.get("dilation_w_factor", 1) != 1 and k_w != 1:
            return False
        if k_h * k_w * in_c > 0xFFFF:
            return False
        return requantization(graph, op) is not None

    def patch_pixels(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the number of windows that are copied at a time; 0 if each window is one input pixel."""
        _, k_h, k_w, in_c = self._shape(graph, op)
        out = graph.tensors[op.outputs[0]]
        if k_h * k_w == 1:
            return 0
        pixels = _PATCH_BYTES[target.optimise] // (k_h * k_w * in_c)
        return min(max(pixels // 2 * 2, 2), out.elements // out.shape[3])

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        _, k_h, k_w, in_c = self._shape(graph, op)
        return self.patch_pixels(graph, op, target) * k_h * k_w * in_c

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, view = ctx.op, view_convolution(ctx.graph, ctx.op)
        inp, out = view.input, view.output
        rounding = require_accepted(requantization(ctx.graph, op))
        batches, in_h, in_w, in_c = inp.shape
        filters = self.filters(ctx.graph, op)
        out_c, k_h, k_w, _ = filters.shape
        (top, left), (low, high) = view.padding, view.activation_range
        patches = self.patch_pixels(ctx.graph, op, ctx.target)
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "patches": ctx.scratch_ptr() if patches else NULL,
            "gemm": gemm_fields(ctx, filters.reshape(out_c, -1), view.bias_values, rounding),
            "batches": u16(op, batches, "batch size"),
            "in_h": u16(op, in_h, "input height"),
            "in_w": u16(op, in_w, "input width"),
            "in_c": u16(op, in_c, "input channels"),
            "out_h": u16(op, out.shape[1], "output height"),
            "out_w": u16(op, out.shape[2], "output width"),
            "k_h": k_h,
            "k_w": u16(op, k_w, "kernel width"),
            "pad_top": u16(op, top, "padding"),
            "pad_left": u16(op, left, "padding"),
            "patch_pixels": patches,
            "stride_h": view.stride[0],
            "stride_w": view.stride[1],
            "dilation_h": view.dilation[0],
            "padding": inp.zero_point,
            "act_min": low,
            "act_max": high,
        }
        return KernelCall(
            "ar_conv_2d_s8_mve", "conv_2d_s8_mve.h", self.kernels, "ar_conv_2d_mve_params", fields
        )


@variant
class Conv2DMve(_Convolution):
    op_name = "CONV_2D"
    channel_axis = 0


@variant
class DepthwiseOfOneChannelMve(_Convolution):
    op_name = "DEPTHWISE_CONV_2D"
    channel_axis = 3
    priority = 210
