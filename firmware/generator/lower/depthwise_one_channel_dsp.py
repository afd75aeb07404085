"""DEPTHWISE_CONV_2D of one input channel on cores with the DSP extension: that is a CONV_2D, and runs as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph import Op, Subgraph
from arenite.firmware.generator.folded import Folded, fold_convolution
from arenite.firmware.generator.lower.base import KernelCall, LowerContext
from arenite.firmware.generator.lower.conv_2d_dsp import (
    MOST_ROWS,
    SOURCES,
    dsp_call,
    needs_window,
    scratch_bytes,
)
from arenite.firmware.generator.lower.pack_pairs import TapOrder, packable, tap_order
from arenite.firmware.generator.lower.variant import Variant, variant
from arenite.firmware.generator.quant import conv_padding
from arenite.firmware.generator.target import DSP, Target


@variant
class DepthwiseOneChannelDsp(Variant):
    op_name = "DEPTHWISE_CONV_2D"
    tiers = (DSP,)
    priority = 210
    kernels = SOURCES
    row_function = "ar_conv_2d_s8_dsp_row"

    def suits(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype != "int8" or inp.shape[3] != 1 or w.shape[1] > MOST_ROWS:
            return False
        taps = _taps(graph, op)
        if taps.groups >= 1 << 16 or taps.runs > 255 or taps.run_width > 255:
            return False
        filters = _filters(graph, op)
        return filters is not None and packable(filters)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        width = graph.tensors[op.outputs[0]].shape[2]
        return scratch_bytes(
            _taps(graph, op), width, 1, op.options["stride_w"], padded=needs_window(graph, op)
        )

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, inp, out, w, o = ctx.op, ctx.input(0), ctx.output(), ctx.input(1), ctx.op.options
        filters = _filters(ctx.graph, op)
        assert inp is not None and w is not None and filters is not None
        _, top = conv_padding(o["padding"], inp.shape[1], w.shape[1], o["stride_h"], o["dilation_h_factor"])
        _, left = conv_padding(o["padding"], inp.shape[2], w.shape[2], o["stride_w"], o["dilation_w_factor"])
        return dsp_call(
            ctx,
            filters,
            _taps(ctx.graph, op),
            {
                "batches": inp.shape[0],
                "in_h": inp.shape[1],
                "in_w": inp.shape[2],
                "in_c": 1,
                "out_h": out.shape[1],
                "out_w": out.shape[2],
                "out_c": out.shape[3],
                "pad_top": top,
                "pad_left": left,
                "k_h": w.shape[1],
                "stride_h": o["stride_h"],
                "stride_w": o["stride_w"],
                "dilation_h": o["dilation_h_factor"],
                "dilation_w": o["dilation_w_factor"],
            },
        )


def _taps(graph: Subgraph, op: Op) -> TapOrder:
    _, k_h, k_w, _ = graph.tensors[op.inputs[1]].shape
    return tap_order(k_h, k_w, 1, op.options["dilation_w_factor"])


def _filters(graph: Subgraph, op: Op) -> Folded | None:
    """The layer with its weights as those of a CONV_2D, [out_c][k_h][k_w][1]; None without a proof."""
    folded = fold_convolution(graph, op, axis=3)
    return None if folded is None else replace(folded, weights=np.moveaxis(folded.weights, (0, 3), (3, 0)))
