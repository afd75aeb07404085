"""Lower CONV_2D for Helium, and DEPTHWISE_CONV_2D of one input channel, which is a convolution over all channels
too."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
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
_PATCH_BYTES = {"speed": 2048, "balanced": 1024, "ram": 384, "flash": 384}

#: Instructions of strips: of a column, and of sixteen bytes of one row of it. Instructions of windows: of a window, of
#: one of its rows, and of sixteen bytes of it.
_COLUMN, _STRIP_VECTOR = 100, 5.5
_WINDOW, _WINDOW_ROW, _WINDOW_VECTOR = 35, 6, 3
#: Instructions of the inner product: of a group of filters, and of a pair of pixels besides those per 32 products.
_GROUP_SETUP, _PAIR = 45, 46


class ConvolutionMve(Variant):
    """The base class of the convolutions."""

    tiers = (MVE,)
    priority = 200
    kernels: ClassVar[tuple[str, ...]] = ("conv_2d_s8_mve.c", "gemm_s8_mve.c")
    row_function = "ar_conv_2d_s8_mve_row"
    function: ClassVar[str] = "ar_conv_2d_s8_mve"
    channel_axis: ClassVar[int]  # the axis of the output channels in the weights

    def filters(self, graph: Subgraph, op: Op) -> np.ndarray:
        """Return the weights as [out_c, k_h, k_w, in_c]."""
        return np.moveaxis(view_convolution(graph, op).filters, self.channel_axis, 0).reshape(
            self.filter_shape(graph, op)
        )

    def filter_shape(self, graph: Subgraph, op: Op) -> tuple[int, int, int, int]:
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
        out_c, k_h, k_w, in_c = self.filter_shape(graph, op)
        if inp.dtype != "int8" or inp.shape[3] != in_c or out_c < _GROUP or k_h > _MAX_ROWS:
            return False
        if op.options.get("dilation_w_factor", 1) != 1 and k_w != 1:
            return False
        if k_h * k_w * in_c > 0xFFFF:
            return False
        return requantization(graph, op) is not None

    def patch_pixels(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the number of windows that are copied at a time; 0 if each window is one input pixel."""
        _, k_h, k_w, in_c = self.filter_shape(graph, op)
        out = graph.tensors[op.outputs[0]]
        if k_h * k_w == 1:
            return 0
        pixels = _PATCH_BYTES[target.optimise] // (k_h * k_w * in_c)
        return min(max(pixels // 2 * 2, 2), out.elements // out.shape[3])

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        _, k_h, k_w, in_c = self.filter_shape(graph, op)
        return self.patch_pixels(graph, op, target) * k_h * k_w * in_c

    def lower(self, ctx: LowerContext) -> KernelCall:
        view = view_convolution(ctx.graph, ctx.op)
        rounding = require_accepted(requantization(ctx.graph, ctx.op))
        filters = self.filters(ctx.graph, ctx.op)
        step = self.out_step(view.output)
        gemm = gemm_fields(ctx, filters.reshape(len(filters), -1), view.bias_values, rounding, step)
        fields = {**self.image_fields(ctx), "gemm": gemm}
        return KernelCall(self.function, "conv_2d_s8_mve.h", self.kernels, "ar_conv_2d_mve_params", fields)

    def image_fields(self, ctx: LowerContext) -> dict[str, Any]:
        """Return all fields of ``ar_conv_2d_mve_params`` except ``gemm``."""
        op, view = ctx.op, view_convolution(ctx.graph, ctx.op)
        inp, out = view.input, view.output
        batches, in_h, in_w, in_c = inp.shape
        _, k_h, k_w, _ = self.filter_shape(ctx.graph, op)
        (top, left), (low, high) = view.padding, view.activation_range
        return {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "patches": ctx.scratch_ptr() if self.scratch(ctx.graph, op, ctx.target) else NULL,
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
            "patch_pixels": self.patch_pixels(ctx.graph, op, ctx.target),
            "stride_h": view.stride[0],
            "stride_w": view.stride[1],
            "dilation_h": view.dilation[0],
            "padding": inp.zero_point,
            "act_min": low,
            "act_max": high,
        }

    def out_step(self, out: Tensor) -> int:
        """Return the bytes from the outputs of a pixel to those of the pixel that is multiplied after it."""
        return out.shape[3]


@variant
class Conv2DMve(ConvolutionMve):
    compact = True
    op_name = "CONV_2D"
    channel_axis = 0


@variant
class DepthwiseOfOneChannelMve(ConvolutionMve):
    compact = True
    op_name = "DEPTHWISE_CONV_2D"
    channel_axis = 3
    priority = 210


class StripsMve(ConvolutionMve):
    """The base class of convolutions that copy the inputs of a column of outputs, and not each window."""

    kernels = ("conv_2d_strips_s8_mve.c", "gemm_s8_mve.c")
    row_function = ""
    function = "ar_conv_2d_strips_s8_mve"

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "speed" or target.stream_input or not super().can_run(graph, op, target):
            return False
        k_h = self.filter_shape(graph, op)[1]
        if k_h == 1 or op.options.get("dilation_h_factor", 1) != 1:
            return False
        if self.scratch(graph, op, target) > _PATCH_BYTES["speed"]:
            return False
        return self._strips_pay(graph, op, target)

    def _strips_pay(self, graph: Subgraph, op: Op, target: Target) -> bool:
        """Return whether strips take fewer instructions than copies of windows. The costs were counted in the
        assembly of both."""
        out_c, k_h, k_w, in_c = self.filter_shape(graph, op)
        out_h = graph.tensors[op.outputs[0]].shape[1]
        vectors = -(-k_w * in_c // 16)
        at_once = super().patch_pixels(graph, op, target)
        strip = (_COLUMN + _STRIP_VECTOR * vectors * self.strip_rows(graph, op)) / out_h
        windows = float(_WINDOW) + k_h * (_WINDOW_ROW + _WINDOW_VECTOR * vectors)
        pair = _PAIR + k_h * k_w * in_c * 29 / 32
        groups = -(-out_c // _GROUP)
        strip += groups * (_GROUP_SETUP + pair * -(-out_h // 2)) / out_h
        windows += groups * (_GROUP_SETUP + pair * -(-at_once // 2)) / at_once
        return strip < windows

    def strip_rows(self, graph: Subgraph, op: Op) -> int:
        """Return the rows of a strip."""
        out = graph.tensors[op.outputs[0]]
        return (out.shape[1] - 1) * int(op.options["stride_h"]) + self.filter_shape(graph, op)[1]

    def patch_pixels(self, graph: Subgraph, op: Op, target: Target) -> int:
        return 0

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of a strip."""
        _, _, k_w, in_c = self.filter_shape(graph, op)
        return self.strip_rows(graph, op) * k_w * in_c

    def out_step(self, out: Tensor) -> int:
        return out.shape[2] * out.shape[3]


@variant
class Conv2DStripsMve(StripsMve):
    op_name = "CONV_2D"
    channel_axis = 0
    priority = 205


@variant
class DepthwiseOfOneChannelStripsMve(StripsMve):
    op_name = "DEPTHWISE_CONV_2D"
    channel_axis = 3
    priority = 215
