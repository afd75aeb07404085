"""Lower CONV_2D with filters of at most 48 values for Helium, and DEPTHWISE_CONV_2D of one input channel: see
gemm4_s8_mve.h."""

from __future__ import annotations

from typing import Any

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
#: The input channels for which there is an inner product of 1 x 1 convolutions, and the fewest pixels of a layer.
_DEPTHS, _MIN_PIXELS = (8, 16, 32), 8
#: The fewest rows of outputs of a layer with strips: four pixels are computed at a time.
_MIN_ROWS = 4
#: The most vectors of a filter for which there is a kernel, and the most bytes of copied pixels.
_MAX_VECTORS, _MAX_COPY = 3, 2048
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
    words = np.stack([bias, added, rounding.multiplier, _MAX_SHIFT - right], axis=1).astype("<i4")
    # The words of two filters alternate.
    pairs = np.ascontiguousarray(words.reshape(-1, 2, 4).transpose(0, 2, 1)).reshape(len(words) // 2, 8)
    vectors = np.ascontiguousarray(stored).view("<i4").reshape(len(pairs), -1)
    return np.concatenate([vectors, pairs], axis=1).reshape(-1).astype(np.int32)


def pixels_of(graph: Subgraph, op: Op) -> int:
    """Return the number of output pixels of all images."""
    out = graph.tensors[op.outputs[0]]
    return out.elements // out.shape[3]


class _Short(ConvolutionMve):
    """The base class of convolutions with short filters."""

    kernels = ("conv_2d_short_s8_mve.c", "gemm4_s8_mve.c")
    row_function = ""

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "speed" or target.stream_input or not super().can_run(graph, op, target):
            return False
        rounding, vectors = require_accepted(requantization(graph, op)), self.vectors(graph, op)
        # Filters of three vectors leave no register for outputs below the zero point.
        if vectors > _MAX_VECTORS or (vectors == _MAX_VECTORS and rounding.two_sided):
            return False
        is_in_range = not np.any(rounding.shift < -_MAX_SHIFT)
        return is_in_range and graph.tensors[op.outputs[0]].shape[3] % 2 == 0

    def vectors(self, graph: Subgraph, op: Op) -> int:
        """Return the vectors that a filter fills."""
        _, k_h, k_w, in_c = self.filter_shape(graph, op)
        return -(-k_h * k_w * in_c // _VECTOR)

    def function_of(self, graph: Subgraph, op: Op) -> str:
        """Return the name of the kernel."""
        return f"ar_conv_2d_short{_VECTOR * self.vectors(graph, op)}_s8_mve"

    def lower(self, ctx: LowerContext) -> KernelCall:
        view = view_convolution(ctx.graph, ctx.op)
        rounding = require_accepted(requantization(ctx.graph, ctx.op))
        filters = self.filters(ctx.graph, ctx.op)
        out_c = len(filters)
        rows = filters.reshape(out_c, -1)
        sums = folded_bias(rows, view.bias_values, view.input.zero_point)
        function = self.function_of(ctx.graph, ctx.op)
        twice = function == "ar_conv_2d_depth8_s8_mve"
        pairs = pack_pairs(rows, sums, rounding, view.output.zero_point, twice)
        unused = {"weights": NULL, "bias": NULL, "multiplier": NULL, "shift": NULL, "out_c": out_c}
        gemm4 = {
            "pairs": ctx.weights(pairs, "pairs"),
            "pair_count": out_c // 2,
            "out_step": self.out_step(view.output),
            "two_sided": int(rounding.two_sided),
        }
        fields = {"conv": {**self.image_fields(ctx), "gemm": unused}, "gemm4": gemm4}
        return KernelCall(
            function, "conv_2d_short_s8_mve.h", self.kernels, "ar_conv_2d_short_mve_params", fields
        )


class _Strips(_Short, StripsMve):
    """The base class of convolutions with strips."""

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        has_rows = graph.tensors[op.outputs[0]].shape[1] >= _MIN_ROWS
        return has_rows and super().can_run(graph, op, target)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return super().scratch(graph, op, target) + _AFTER_STRIP


@variant
class PointwiseShortMve(_Short):
    op_name = "CONV_2D"
    channel_axis = 0
    priority = 207

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        _, k_h, k_w, in_c = self.filter_shape(graph, op)
        strides = op.options["stride_h"], op.options["stride_w"]
        if (k_h, k_w, *strides) != (1, 1, 1, 1) or in_c not in _DEPTHS:
            return False
        return pixels_of(graph, op) >= _MIN_PIXELS and super().can_run(graph, op, target)

    def function_of(self, graph: Subgraph, op: Op) -> str:
        return f"ar_conv_2d_depth{self.filter_shape(graph, op)[3]}_s8_mve"


@variant
class PointwiseCopiedMve(_Short):
    """1 x 1 convolutions of other depths. All pixels are copied like the rows of a column, because the kernels read
    complete vectors and thus bytes after the last pixel."""

    op_name = "CONV_2D"
    channel_axis = 0
    priority = 206

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        _, k_h, k_w, _ = self.filter_shape(graph, op)
        if (k_h, k_w, op.options["stride_h"], op.options["stride_w"]) != (1, 1, 1, 1):
            return False
        pixels = pixels_of(graph, op)
        has_size = pixels >= _MIN_PIXELS and self.scratch(graph, op, target) <= _MAX_COPY
        return has_size and super().can_run(graph, op, target)

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return pixels_of(graph, op) * self.filter_shape(graph, op)[3] + _AFTER_STRIP

    def image_fields(self, ctx: LowerContext) -> dict[str, Any]:
        pixels = pixels_of(ctx.graph, ctx.op)
        column = {"batches": 1, "in_h": pixels, "in_w": 1, "out_h": pixels, "out_w": 1}
        return {**super().image_fields(ctx), **column}


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
