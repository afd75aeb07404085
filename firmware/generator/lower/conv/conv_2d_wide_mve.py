"""Lower CONV_2D with filters of 1 x 1 and 64 or 128 input channels for Helium: see gemm_wide_s8_mve.h."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.conv.gemm_layout_mve import DoubleRounding, folded_bias, requantization
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.target import MVE, Target

#: The depths for which there is an inner product, the number of filters that it computes together, and the values of a
#: vector.
_DEPTHS, _GROUP, _VECTOR = (64, 128), 4, 16
#: The fewest pixels, and the most output channels: the offsets of outputs have 16 bits.
_MIN_PIXELS, _MAX_CHANNELS = 4, 16384


def pack_groups(filters: np.ndarray, bias: np.ndarray, rounding: DoubleRounding) -> np.ndarray:
    """Return the weights and constants of all groups of four filters as int32 words. ``filters`` is int8 [channels,
    depth], ``bias`` int32 [channels]."""
    groups = len(filters) // _GROUP
    weights = filters.astype(np.int8).reshape(groups, _GROUP, -1, _VECTOR).transpose(0, 2, 1, 3)
    words = np.ascontiguousarray(weights).reshape(groups, -1).view("<i4")
    constants = [bias, rounding.multiplier, rounding.shift]
    columns = [np.asarray(v).astype(np.int32).reshape(groups, _GROUP) for v in constants]
    return np.concatenate([words, *columns], axis=1).astype(np.int32)


@variant
class PointwiseWideMve(Variant):
    op_name = "CONV_2D"
    tiers = (MVE,)
    priority = 208
    kernels = ("conv_2d_wide_s8_mve.c", "gemm_wide_s8_mve.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        # The kernel cannot compute single rows.
        if target.optimise != "speed" or target.stream_input:
            return False
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        out_c, k_h, k_w, in_c = w.shape
        if inp.dtype != "int8" or w.data is None or inp.shape[3] != in_c or in_c not in _DEPTHS:
            return False
        if (k_h, k_w, op.options["stride_h"], op.options["stride_w"]) != (1, 1, 1, 1):
            return False
        if out_c % _GROUP or out_c > _MAX_CHANNELS or out.elements // out_c < _MIN_PIXELS:
            return False
        return requantization(graph, op) is not None

    def lower(self, ctx: LowerContext) -> KernelCall:
        view = view_convolution(ctx.graph, ctx.op)
        rounding = require_accepted(requantization(ctx.graph, ctx.op))
        out_c, _, _, depth = view.weights.shape
        filters = view.filters.reshape(out_c, depth)
        sums = folded_bias(filters, view.bias_values, view.input.zero_point)
        low, high = view.activation_range
        gemm = {
            "groups": ctx.weights(pack_groups(filters, sums, rounding), "groups"),
            "group_count": out_c // _GROUP,
            "out_c": out_c,
            "two_sided": int(rounding.two_sided),
            "output_zero": view.output.zero_point,
            "offsets": [pixel * out_c + k for k in range(_GROUP) for pixel in (0, 1)],
        }
        return KernelCall(
            f"ar_conv_2d_depth{depth}_s8_mve",
            "conv_2d_wide_s8_mve.h",
            self.kernels,
            "ar_conv_2d_wide_params",
            {
                "gemm": gemm,
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "pixels": view.output.elements // out_c,
                "act_min": low,
                "act_max": high,
            },
        )
