"""Lower int8 CONV_2D with 3 x 3 filters and stride 1 to a kernel with Winograd's F(2,3), on cores with the DSP
extension, in builds for speed."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.channel_pairs import pair_requant
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.folded_layer import FoldedLayer, fold_convolution
from arenite.firmware.generator.target import DSP, Target

#: The kernel's sums are this number times the sums of the convolution: 2 from the transform, and 64 from the weights.
_SCALE = 128
#: A layer must save this number of instructions per inference for every byte of flash that it costs.
_MIN_SAVED_PER_BYTE = 32
#: Instructions saved per multiply-accumulate (measured), and additional flash per weight: 24 bytes of transformed
#: filters replace 9 of weights.
_SAVED_PER_MAC, _EXTRA_BYTES_PER_WEIGHT = 0.25, 24 / 9 - 1
#: The inputs of a group of four channels, in the order in which SXTB16 splits a word.
_GROUP = (0, 2, 1, 3)


@variant
class Conv2DWinogradDsp(Variant):
    op_name = "CONV_2D"
    tiers = (DSP,)
    priority = 300
    kernels = ("conv_2d_s8_winograd_dsp.c", "winograd3_s8_dsp.c", "winograd_tile_s8_dsp.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "speed":
            return False
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        if not has_winograd_windows(graph, op) or inp.shape[3] % 4:
            return False
        # The kernel computes three tiles of 1 x 2 outputs together.
        if out.shape[2] % 2 or out.shape[2] < 4 or out.shape[1] * out.shape[2] < 6:
            return False
        macs = out.elements * 9 * inp.shape[3]
        if macs * _SAVED_PER_MAC < _MIN_SAVED_PER_BYTE * w.elements * _EXTRA_BYTES_PER_WEIGHT:
            return False
        return fold_convolution(graph, op, axis=0, two_sided=True) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        in_c, out_w = graph.tensors[op.inputs[0]].shape[3], graph.tensors[op.outputs[0]].shape[2]
        # The transformed tiles (72 bytes per channel), then four padded rows: see ``ar_conv_2d_winograd_params``.
        return 72 * in_c + 4 * (out_w + 2) * in_c

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded = require_accepted(fold_convolution(ctx.graph, ctx.op, axis=0, two_sided=True))
        return KernelCall(
            "ar_conv_2d_s8_winograd_dsp",
            "conv_2d_winograd_dsp.h",
            self.kernels,
            "ar_conv_2d_winograd_params",
            winograd_fields(ctx, folded, winograd_filters(folded), pair_requant(folded)),
        )


def has_winograd_windows(graph: Subgraph, op: Op) -> bool:
    """Return whether a CONV_2D is int8, has windows of 3 x 3 adjacent pixels with all input channels at stride 1, and
    an even number of output channels."""
    inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    steps = ("stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor")
    if inp.dtype != "int8" or w.shape[1:3] != (3, 3) or any(op.options[name] != 1 for name in steps):
        return False
    return bool(w.shape[3] == inp.shape[3] and out.shape[3] % 2 == 0)


def winograd_fields(
    ctx: LowerContext, folded: FoldedLayer, filters: np.ndarray, requant: np.ndarray
) -> dict[str, Any]:
    """Return all fields of ``ar_conv_2d_winograd_params``."""
    view = view_convolution(ctx.graph, ctx.op)
    inp, out, (top, left) = view.input, view.output, view.padding
    return {
        "input": ctx.input_ptr(0),
        "output": ctx.output_ptr(),
        "filters": ctx.weights(filters, "filters"),
        "requant": ctx.table(requant, "requant"),
        "scratch": ctx.scratch_ptr(),
        "rounding": folded.requant.rounding,
        "batches": inp.shape[0],
        "in_h": inp.shape[1],
        "in_w": inp.shape[2],
        "in_c": inp.shape[3],
        "out_h": out.shape[1],
        "out_w": out.shape[2],
        "out_c": out.shape[3],
        "pad_top": top,
        "pad_left": left,
        "shift": folded.requant.shift,
        "zero_point": folded.input_zero_point,
        "act_min": folded.act_range[0],
        "act_max": folded.act_range[1],
    }


def winograd_filters(folded: FoldedLayer) -> np.ndarray:
    """Return the biases and transformed weights of every pair of channels, int32 [out_c / 2, 2 + 12 in_c], in the
    layout of ``winograd3_s8_dsp.h``."""
    g0, g1, g2 = np.moveaxis(folded.weights, 2, 0)  # each [out_c, k_h, in_c]
    planes = np.stack([g0 + g1 + g2, g0 - g1 + g2, 2 * g0, -2 * g2], axis=1) * (_SCALE // 2)
    return pair_filters(planes, _SCALE * folded.bias)


def pair_filters(planes: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return the biases and transformed weights of every pair of channels, int32. ``planes`` is int64 [out_c, planes,
    ..., in_c], ``bias`` int64 [out_c].

    Raises ValueError: transformed weights do not fit into 16 bits.
    """
    if np.abs(planes).max(initial=0) >= 1 << 15:
        raise ValueError(
            "Transformed filters do not fit into 16 bits, although those of int8 weights always do."
        )
    channels, in_c = len(planes), planes.shape[-1]
    order = (4 * np.arange(in_c // 4)[:, None] + np.array(_GROUP)).reshape(-1)
    inputs = planes[..., order].reshape(channels, -1) & 0xFFFF
    words = inputs[:, 0::2] | inputs[:, 1::2] << 16
    paired = words.reshape(channels // 2, 2, -1).transpose(0, 2, 1).reshape(channels // 2, -1)
    biases = bias.reshape(-1, 2) & 0xFFFFFFFF
    return np.concatenate([biases, paired], axis=1).astype(np.uint32).view(np.int32)
