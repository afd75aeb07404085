"""Lower CONV_2D with filters of at most 32 values for Helium, and DEPTHWISE_CONV_2D of one input channel: see
gemm4_s8_mve.h."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.conv_2d_mve import ConvolutionMve, StripsMve
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.conv.gemm_layout_mve import DoubleRounding, folded_bias, requantization
from arenite.firmware.generator.lower.core.lowering import NULL, KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import variant
from arenite.firmware.generator.target import Target

#: Sizes of vectors in bytes, and the largest right shift: see gemm4_s8_mve.h.
_VECTOR, _MAX_SHIFT = 16, 24
#: The largest distance in bytes from the outputs of a pixel to those of the next one: offsets have 16 bits.
_MAX_STEP = 16384
#: The input channels for which there is an inner product of 1 x 1 convolutions, and the fewest pixels of a layer.
_DEPTHS, _MIN_PIXELS = (8, 16, 32), 8
#: The fewest rows of outputs of a layer with strips: four pixels are computed at a time.
_MIN_ROWS = 4
#: Bytes that the kernels read after a strip.
_AFTER_STRIP = 32


def pack_pairs(
    filters: np.ndarray, bias: np.ndarray, rounding: DoubleRounding, output_zero: int, twice: bool
) -> np.ndarray:
    """Return the constants of all pairs of filters as int32 words.

    ``filters`` is int8 [channels, depth], ``bias`` int32 [channels]. If ``twice`` is true, the filters have a depth of
    8 and are stored for the first and for the second pixel of a vector.
    """
    count, depth = filters.shape
    stored = np.zeros((count, -(-depth // _VECTOR) * _VECTOR), np.int8)
    stored[:, :depth] = filters
    if twice:
        stored = np.concatenate([stored, np.roll(stored, 8, axis=1)], axis=1)
    right = -rounding.shift.astype(np.int64)
    added = (output_zero << right) + ((1 << right) >> 1)
    words = np.stack([bias, rounding.multiplier, added, _MAX_SHIFT - right], axis=1).astype("<i4")
    # The words of two filters alternate.
    pairs = np.ascontiguousarray(words.reshape(-1, 2, 4).transpose(0, 2, 1)).reshape(len(words) // 2, 8)
    vectors = np.ascontiguousarray(stored).view("<i4").reshape(len(pairs), -1)
    return np.concatenate([vectors, pairs], axis=1).reshape(-1).astype(np.int32)


class _Short(ConvolutionMve):
    """The base class of convolutions with short filters."""

    kernels = ("conv_2d_short_s8_mve.c", "gemm4_s8_mve.c")
    row_function = ""

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "speed" or target.stream_input or not super().can_run(graph, op, target):
            return False
        out = graph.tensors[op.outputs[0]]
        rounding = require_accepted(requantization(graph, op))
        is_in_range = not np.any(rounding.shift < -_MAX_SHIFT)
        return is_in_range and out.shape[3] % 2 == 0 and self.out_step(out) <= _MAX_STEP

    def function_of(self, graph: Subgraph, op: Op) -> str:
        """Return the name of the kernel."""
        raise NotImplementedError

    def lower(self, ctx: LowerContext) -> KernelCall:
        view = view_convolution(ctx.graph, ctx.op)
        rounding = require_accepted(requantization(ctx.graph, ctx.op))
        filters = self.filters(ctx.graph, ctx.op)
        out_c = len(filters)
        rows = filters.reshape(out_c, -1)
        sums = folded_bias(rows, view.bias_values, view.input.zero_point)
        function = self.function_of(ctx.graph, ctx.op)
        twice = function == "ar_conv_2d_depth8_s8_mve"
        step = self.out_step(view.output)
        pairs = pack_pairs(rows, sums, rounding, view.output.zero_point, twice)
        unused = {"weights": NULL, "bias": NULL, "multiplier": NULL, "shift": NULL, "out_c": out_c}
        gemm4 = {
            "pairs": ctx.weights(pairs, "pairs"),
            "pair_count": out_c // 2,
            "out_step": step,
            "two_sided": int(rounding.two_sided),
            "offsets": [k * step + filter_ for k in range(4) for filter_ in (1, 0)],
        }
        fields = {"conv": {**self.image_fields(ctx), "gemm": unused}, "gemm4": gemm4}
        return KernelCall(
            function, "conv_2d_short_s8_mve.h", self.kernels, "ar_conv_2d_short_mve_params", fields
        )


class _Strips(_Short, StripsMve):
    """The base class of convolutions with strips."""

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        _, k_h, k_w, in_c = self.filter_shape(graph, op)
        has_rows = graph.tensors[op.outputs[0]].shape[1] >= _MIN_ROWS
        return has_rows and k_h * k_w * in_c <= 2 * _VECTOR and super().can_run(graph, op, target)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return super().scratch(graph, op, target) + _AFTER_STRIP

    def function_of(self, graph: Subgraph, op: Op) -> str:
        _, k_h, k_w, in_c = self.filter_shape(graph, op)
        return f"ar_conv_2d_short{16 if k_h * k_w * in_c <= _VECTOR else 32}_s8_mve"


@variant
class PointwiseShortMve(_Short):
    op_name = "CONV_2D"
    channel_axis = 0
    priority = 207

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        _, k_h, k_w, in_c = self.filter_shape(graph, op)
        out, o = graph.tensors[op.outputs[0]], op.options
        if (k_h, k_w, o["stride_h"], o["stride_w"]) != (1, 1, 1, 1) or in_c not in _DEPTHS:
            return False
        return out.elements // out.shape[3] >= _MIN_PIXELS and super().can_run(graph, op, target)

    def function_of(self, graph: Subgraph, op: Op) -> str:
        return f"ar_conv_2d_depth{self.filter_shape(graph, op)[3]}_s8_mve"


@variant
class Conv2DShortStripsMve(_Strips):
    op_name = "CONV_2D"
    channel_axis = 0
    priority = 206


@variant
class DepthwiseOfOneChannelShortStripsMve(_Strips):
    op_name = "DEPTHWISE_CONV_2D"
    channel_axis = 3
    priority = 216
