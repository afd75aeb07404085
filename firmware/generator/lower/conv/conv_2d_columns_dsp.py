"""Lower int8 CONV_2D with filters 3 taps wide and a horizontal stride of 1 on cores with the DSP extension.

Neighboring output pixels share the columns of the input that are widened to int16.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.channel_pairs import GROUP_ORDER, packable, pair_words
from arenite.firmware.generator.lower.conv.conv_2d_dsp import MAX_ROWS, folded_pairs, shape_of
from arenite.firmware.generator.lower.conv.pair_requantization import pair_requantization
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.target import DSP, Target

_TAPS = 3
_KERNELS = (
    "conv_2d_s8_columns_dsp.c",
    "columns2_s8_dsp.c",
    "columns3_s8_dsp.c",
    "dot2_s8_dsp.c",
    "dot3_s8_dsp.c",
)


@variant
class Conv2DColumnsDsp(Variant):
    op_name = "CONV_2D"
    tiers = (DSP,)
    priority = 205
    kernels = _KERNELS
    row_function = "ar_conv_2d_s8_columns_dsp_row"

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        if inp.dtype != "int8" or w.data is None or w.shape[2] != _TAPS or w.shape[1] > MAX_ROWS:
            return False
        if w.shape[3] != inp.shape[3] or inp.shape[3] % 4 or out.shape[3] % 2 or out.shape[2] < 2:
            return False
        if op.options["stride_w"] != 1 or op.options["dilation_w_factor"] != 1:
            return False
        shape = shape_of(graph, op)
        right = out.shape[2] + _TAPS - 1 - shape["pad_left"] - inp.shape[2]
        if shape["pad_left"] > 1 or right > 1 or max(*inp.shape, *out.shape) >= 1 << 16:
            return False
        folded = folded_pairs(graph, op, 0)
        return folded is not None and packable(folded) and pair_requantization(folded) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of the widened pixels of the largest block, and of one pixel of padding."""
        w, out_w = graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]].shape[2]
        _, k_h, k_w, in_c = w.shape
        # 2 bytes per input, and blocks of 3 pixels; a row of 2 or 4 pixels is computed in blocks of 2.
        return 2 * k_h * k_w * in_c * (2 if out_w in (2, 4) else 3) + in_c

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded, shape = require_accepted(folded_pairs(ctx.graph, ctx.op, 0)), shape_of(ctx.graph, ctx.op)
        form = require_accepted(pair_requantization(folded))
        del shape["stride_w"], shape["dilation_w"]
        words = pair_words(folded, column_order(shape["k_h"], shape["in_c"]))
        return KernelCall(
            "ar_conv_2d_s8_columns_dsp",
            "conv_2d_s8_columns_dsp.h",
            _KERNELS,
            "ar_conv_2d_columns_params",
            {
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "filters": ctx.weights(np.concatenate([form.biases, words], axis=1), "filters"),
                "requant": ctx.table(form.requant, "requant"),
                "scratch": ctx.scratch_ptr(),
                "rounding": form.rounding,
                **shape,
                "shift": form.shift,
                "form": form.form,
                "zero_point": folded.input_zero_point,
                "act_min": folded.act_range[0],
                "act_max": folded.act_range[1],
            },
        )


def column_order(k_h: int, in_c: int) -> np.ndarray:
    """Return int64 [k_h * 3 * in_c]: the indexes of the inputs in a window [k_h][3][in_c], in the order in which
    ``columns_s8_dsp.h`` widens the inputs."""
    row, group, tap = np.arange(k_h), np.arange(in_c // 4), np.arange(_TAPS)
    first = (row[:, None, None] * _TAPS + tap) * in_c + 4 * group[:, None]
    return cast(np.ndarray, (first[..., None] + GROUP_ORDER).reshape(-1))
