"""CONV_2D."""

from __future__ import annotations

import numpy as np
from arenite.converters.graph import Op, Subgraph, Tensor
from arenite.firmware.generator.lower.base import (
    NULL,
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_constant,
    require_dtype,
    u16,
)
from arenite.firmware.generator.quant import activation_range, conv_padding, quantize_multiplier


def channel_multipliers(ctx: LowerContext, inp: Tensor, weights: Tensor, out: Tensor, channels: int):
    """Per-channel multiplier and shift arrays: input scale * weight scale / output scale, in double."""
    assert weights.quant is not None
    scales = weights.quant.scale if weights.quant.per_axis else weights.quant.scale * channels
    pairs = [quantize_multiplier(inp.scale * s / out.scale) for s in scales]
    multiplier = np.array([m for m, _ in pairs], np.int32)
    shift = np.array([s for _, s in pairs], np.int8)
    return ctx.table(multiplier, "multiplier"), ctx.table(shift, "shift")


def check_weights(op: Op, graph: Subgraph, position: int, axis: int) -> None:
    """Constant int8 weights, symmetric, quantised per tensor or along ``axis``."""
    weights = graph.tensors[op.input(position)]
    require_dtype(op, weights, ("int8",))
    require_constant(op, weights, "weights")
    if weights.quant is None or any(weights.quant.zero_point):
        raise refuse(op, weights, "weights must be quantised with zero point 0", "Re-quantise the model.")
    if weights.quant.per_axis and weights.quant.axis != axis:
        raise refuse(
            op,
            weights,
            f"weights are quantised along axis {weights.quant.axis}, expected {axis}",
            "Re-quantise the model.",
        )


@register
class Conv2D(Lowering):
    op_name = "CONV_2D"
    supports = "int8 activations, int8 weights per channel or per tensor; strides, dilation, groups"

    def check(self, graph: Subgraph, op: Op) -> None:
        require_dtype(op, graph.tensors[op.inputs[0]], ("int8",))
        check_weights(op, graph, 1, axis=0)
        if op.input(2) >= 0:
            require_constant(op, graph.tensors[op.input(2)], "bias")

    def macs(self, graph: Subgraph, op: Op) -> int:
        _, k_h, k_w, k_c = graph.tensors[op.inputs[1]].shape
        return graph.tensors[op.outputs[0]].elements * k_h * k_w * k_c

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, inp, w, bias, out = ctx.op, ctx.input(0), ctx.input(1), ctx.input(2), ctx.output()
        assert inp is not None and w is not None and w.data is not None
        batches, in_h, in_w, in_c = inp.shape
        out_c, k_h, k_w, k_c = w.shape
        o = op.options
        _, pad_top = conv_padding(o["padding"], in_h, k_h, o["stride_h"], o["dilation_h_factor"])
        _, pad_left = conv_padding(o["padding"], in_w, k_w, o["stride_w"], o["dilation_w_factor"])
        multiplier, shift = channel_multipliers(ctx, inp, w, out, out_c)
        act_min, act_max = activation_range(o["fused_activation_function"], out)
        return KernelCall(
            "ar_conv_2d_s8",
            "conv_2d.h",
            ("conv_2d_s8.c",),
            "ar_conv_2d_params",
            {
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "weights": ctx.weights(w.data, "weights"),
                "bias": NULL if bias is None or bias.data is None else ctx.weights(bias.data, "bias"),
                "multiplier": multiplier,
                "shift": shift,
                "batches": u16(op, batches, "batch size"),
                "in_h": u16(op, in_h, "input height"),
                "in_w": u16(op, in_w, "input width"),
                "in_c": u16(op, in_c, "input channels"),
                "out_h": out.shape[1],
                "out_w": out.shape[2],
                "out_c": u16(op, out_c, "output channels"),
                "k_h": k_h,
                "k_w": k_w,
                "k_c": k_c,
                "pad_top": pad_top,
                "pad_left": pad_left,
                "stride_h": o["stride_h"],
                "stride_w": o["stride_w"],
                "dilation_h": o["dilation_h_factor"],
                "dilation_w": o["dilation_w_factor"],
                "input_offset": -inp.zero_point,
                "output_offset": out.zero_point,
                "act_min": act_min,
                "act_max": act_max,
            },
        )
