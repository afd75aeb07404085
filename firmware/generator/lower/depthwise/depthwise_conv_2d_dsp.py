"""Lower int8 DEPTHWISE_CONV_2D with any window on cores with the DSP extension to ``depthwise_conv_2d_s8_dsp.c``."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.conv_2d_scalar import geometry
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.folded_layer import fold_convolution
from arenite.firmware.generator.target import DSP, Target

#: Bytes of an address, also on a 64-bit computer.
_ADDRESS = 8
#: The number of channels that are computed together, and their axis in the weights.
_GROUP, _AXIS = 4, 3


@variant
class DepthwiseDsp(Variant):
    op_name = "DEPTHWISE_CONV_2D"
    tiers = (DSP,)
    priority = 150
    kernels = ("depthwise_conv_2d_s8_dsp.c", "depthwise_pixel_s8_dsp.c")
    row_function = "ar_depthwise_conv_2d_s8_dsp_row"

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype != "int8" or w.shape[3] != inp.shape[3] or inp.shape[3] < _GROUP:
            return False
        if w.shape[1] * w.shape[2] > 0xFFFF:
            return False
        return fold_convolution(graph, op, _AXIS) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of an address for each tap and for each row of the filter, and of one pixel of padding."""
        g = geometry(graph, op)
        return _ADDRESS * (g.k_h * g.k_w + g.k_h) + g.in_c

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0) without padding at the top and on the left: output pixel n then overwrites input pixel n, and
        windows of later output pixels begin after input pixel n. The kernel reads all taps of a channel before it
        writes the channel's output."""
        g = geometry(graph, op)
        return ((0, 0),) if g.batches == 1 and g.pad_top == g.pad_left == 0 else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded = require_accepted(fold_convolution(ctx.graph, ctx.op, _AXIS))
        g = geometry(ctx.graph, ctx.op)
        filters = np.moveaxis(folded.weights, 3, 0).reshape(g.in_c, -1)
        scales = np.stack([folded.requant.multiplier, folded.requant.offset], axis=1).reshape(-1)
        shape = {name: value for name, value in g.fields().items() if name not in ("in_c", "out_c")}
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "weights": ctx.weights(pack_taps(filters), "weights"),
            "bias": ctx.weights(folded.bias.astype(np.int32), "bias"),
            "scale": ctx.table(scales.astype(np.int32), "scales"),
            "scratch": ctx.scratch_ptr(),
            "rounding": folded.requant.rounding,
            **shape,
            "channels": g.in_c,
            "taps": g.k_h * g.k_w,
            "shift": folded.requant.shift,
            "two_sided": int(folded.requant.two_sided),
            "act_min": folded.act_range[0],
            "act_max": folded.act_range[1],
            "padding": folded.input_zero_point,
        }
        return KernelCall(
            "ar_depthwise_conv_2d_s8_dsp",
            "depthwise_conv_2d_s8_dsp.h",
            ("depthwise_conv_2d_s8_dsp.c", "depthwise_pixel_s8_dsp.c"),
            "ar_depthwise_dsp_params",
            fields,
        )


def pack_taps(filters: np.ndarray) -> np.ndarray:
    """Return the weights in the kernel's layout as int32 words. ``filters`` is int64 [channels, taps]."""
    channels, taps = filters.shape
    in_groups = channels // _GROUP * _GROUP
    groups = filters[:in_groups].reshape(-1, _GROUP, taps)
    even = taps // 2 * 2
    # Transpose [groups, pairs of channels, channel, pairs of taps, tap] so that a word holds two taps of two channels.
    pairs = groups[:, :, :even].reshape(len(groups), 2, 2, even // 2, 2).transpose(0, 3, 1, 4, 2)
    words = np.concatenate(
        [pairs.reshape(len(groups), -1), groups[:, :, even:].reshape(len(groups), -1)], axis=1
    )
    values = np.concatenate([words.reshape(-1), filters[in_groups:].reshape(-1)]).astype(np.int8)
    return np.pad(values, (0, -len(values) % 4)).view("<i4").astype(np.int32)
