"""CONV_2D, int8, on cores with the DSP extension."""

from __future__ import annotations

from arenite.converters.graph import Op, Subgraph
from arenite.firmware.generator.folded import Folded, fold_convolution
from arenite.firmware.generator.lower.base import KernelCall, LowerContext
from arenite.firmware.generator.lower.pack_pairs import (
    TapOrder,
    pack_pairs,
    packable,
    pair_requant,
    tap_order,
)
from arenite.firmware.generator.lower.variant import Variant, variant
from arenite.firmware.generator.quant import conv_padding
from arenite.firmware.generator.target import DSP, Target

#: AR_CONV_DSP_ROWS of conv_2d_s8_dsp.h.
MOST_ROWS = 16
#: Neighbouring pixels that the fastest kernel takes together.
_BLOCK = 3
SOURCES = (
    "conv_2d_s8_dsp.c",
    "dot2_s8_dsp.c",
    "dot3_s8_dsp.c",
    "expand2_s8_dsp.c",
    "expand3_s8_dsp.c",
)


@variant
class Conv2DDsp(Variant):
    op_name = "CONV_2D"
    tiers = (DSP,)
    priority = 200
    kernels = SOURCES

    def suits(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype != "int8" or w.data is None or w.shape[3] != inp.shape[3] or w.shape[1] > MOST_ROWS:
            return False
        taps = order_of(graph, op)
        if taps.groups >= 1 << 16 or taps.runs > 255 or taps.run_width > 255:
            return False
        folded = fold_convolution(graph, op, axis=0)
        return folded is not None and packable(folded)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        taps = order_of(graph, op)
        row = out.shape[2] if not is_seamless(graph, op) else out.shape[0] * out.shape[1] * out.shape[2]
        return scratch_bytes(taps, row, inp.shape[3], op.options["stride_w"], padded=needs_window(graph, op))

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """One tap: a block of pixels is widened before its outputs, which lie no further on, are written."""
        inp, out, w = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]], graph.tensors[op.inputs[1]]
        return ((0, 0),) if w.shape[1:3] == (1, 1) and out.shape[3] <= inp.shape[3] else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, inp, out, w = ctx.op, ctx.input(0), ctx.output(), ctx.input(1)
        assert inp is not None and w is not None
        folded = fold_convolution(ctx.graph, op, axis=0)
        assert folded is not None
        taps = order_of(ctx.graph, op)
        top, left = _padding(ctx.graph, op)
        return dsp_call(
            ctx,
            folded,
            taps,
            {
                "batches": inp.shape[0],
                "in_h": inp.shape[1],
                "in_w": inp.shape[2],
                "in_c": inp.shape[3],
                "out_h": out.shape[1],
                "out_w": out.shape[2],
                "out_c": out.shape[3],
                "pad_top": top,
                "pad_left": left,
                "k_h": w.shape[1],
                "stride_h": op.options["stride_h"],
                "stride_w": op.options["stride_w"],
                "dilation_h": op.options["dilation_h_factor"],
                "dilation_w": op.options["dilation_w_factor"],
            },
        )


def order_of(graph: Subgraph, op: Op) -> TapOrder:
    _, k_h, k_w, in_c = graph.tensors[op.inputs[1]].shape
    return tap_order(k_h, k_w, in_c, op.options["dilation_w_factor"])


def is_seamless(graph: Subgraph, op: Op) -> bool:
    """One tap at every pixel: the whole tensor is one long row."""
    w, o = graph.tensors[op.inputs[1]], op.options
    return w.shape[1:3] == (1, 1) and o["stride_h"] == 1 and o["stride_w"] == 1


def needs_window(graph: Subgraph, op: Op) -> bool:
    """Whether some window hangs over the image's edge."""
    inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    o = op.options
    before = _padding(graph, op)
    strides = (o["stride_h"], o["stride_w"])
    dilations = (o["dilation_h_factor"], o["dilation_w_factor"])
    for k in (0, 1):
        end = (out.shape[1 + k] - 1) * strides[k] - before[k] + (w.shape[1 + k] - 1) * dilations[k] + 1
        if before[k] or end > inp.shape[1 + k]:
            return True
    return False


def scratch_bytes(taps: TapOrder, row_width: int, in_c: int, stride: int, *, padded: bool) -> int:
    """Widened pixels of the largest block, and its window where one is copied: at an edge, or because a run's last
    group would read on behind the row."""
    pixels = _BLOCK if row_width == _BLOCK or row_width > _BLOCK + 1 else 2
    made = taps.groups * 8 * pixels
    overhang = 4 * taps.run_groups + taps.rest - taps.run_width * in_c
    if padded or overhang:
        made += ((pixels - 1) * stride + taps.run_width) * in_c + overhang
    return made


def dsp_call(ctx: LowerContext, folded: Folded, taps: TapOrder, shape: dict[str, int]) -> KernelCall:
    """The call of ``ar_conv_2d_s8_dsp`` for a layer of this ``shape``: the fields that name sizes."""
    return KernelCall(
        "ar_conv_2d_s8_dsp",
        "conv_2d_s8_dsp.h",
        SOURCES,
        "ar_conv_2d_dsp_params",
        {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "filters": ctx.weights(pack_pairs(folded, taps.order), "filters"),
            "requant": ctx.table(pair_requant(folded), "requant"),
            "scratch": ctx.scratch_ptr(),
            "rounding": folded.requant.rounding,
            **shape,
            "groups": taps.groups,
            "run_groups": taps.run_groups,
            "runs": taps.runs,
            "run_width": taps.run_width,
            "rest": taps.rest,
            "shift": folded.requant.shift,
            "two_sided": int(folded.requant.two_sided),
            "zero_point": folded.input_zero_point,
            "act_min": folded.act_range[0],
            "act_max": folded.act_range[1],
        },
    )


def _padding(graph: Subgraph, op: Op) -> tuple[int, int]:
    """Rows above and columns to the left of the image."""
    inp, w, o = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], op.options
    top = conv_padding(o["padding"], inp.shape[1], w.shape[1], o["stride_h"], o["dilation_h_factor"])[1]
    left = conv_padding(o["padding"], inp.shape[2], w.shape[2], o["stride_w"], o["dilation_w_factor"])[1]
    return top, left
