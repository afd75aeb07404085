"""Lower int8 DEPTHWISE_CONV_2D on cores with the DSP extension in builds for small flash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.compact_layer import compact_layer
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.target import DSP, MVE, Target

#: The axis of the channels in the weights, and the number of channels that are computed together.
AXIS, GROUP = 3, 4
#: The largest value of the fields with 8 and with 16 bits.
_MAX_8, MAX_16 = 0xFF, 0xFFFF


@dataclass(frozen=True)
class CompactPlane:
    """The sizes of a layer. The kernel computes row by row, so an image of one column is turned into one row. Pairs are
    (vertical, horizontal)."""

    input: tuple[int, int]
    output: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]

    @property
    def columns(self) -> int:
        return (self.output[1] - 1) * self.stride[1] + self.kernel[1]

    @property
    def rows(self) -> int:
        return (self.output[0] - 1) * self.stride[0] + self.kernel[0]

    @property
    def size(self) -> int:
        """The int16 values of a channel's scratch: its columns, and two weights for each pair of taps. It is even, so
        that the weights of every channel begin at a word."""
        values = self.columns * self.kernel[0] + self.rows + 2 * self.pairs
        return values + values % 2

    @property
    def pairs(self) -> int:
        return -(-self.kernel[0] * self.kernel[1] // 2)


@variant
class DepthwiseCompactDsp(Variant):
    op_name = "DEPTHWISE_CONV_2D"
    tiers = (DSP, MVE)
    priority = 150
    compact = True
    kernels = ("depthwise_compact_row_s8_dsp.c", "depthwise_conv_2d_s8_compact_dsp.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "flash" or target.stream_input:
            return False
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype != "int8" or w.data is None or w.stored or w.shape[3] != inp.shape[3]:
            return False
        if op.options.get("dilation_h_factor", 1) != 1 or op.options.get("dilation_w_factor", 1) != 1:
            return False
        plane = compact_plane(graph, op)
        if max(*plane.kernel, *plane.padding, *plane.stride) > _MAX_8:
            return False
        if max(*inp.shape, *graph.tensors[op.outputs[0]].shape, plane.size) > MAX_16:
            return False
        return compact_layer(graph, op, AXIS, target) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return 2 * GROUP * compact_plane(graph, op).size

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0) at stride 1 and equal shapes, where an output row overwrites an input row only after that row
        has been widened."""
        plane = compact_plane(graph, op)
        return ((0, 0),) if plane.stride == (1, 1) and plane.input == plane.output else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        plane = compact_plane(ctx.graph, ctx.op)
        fields = self.common_fields(ctx) | {
            "batches": ctx.input_tensor(0).shape[0],
            "columns": plane.columns,
            "pairs": plane.pairs,
            "size": plane.size,
            "k_h": plane.kernel[0],
            "k_w": plane.kernel[1],
            "stride_h": plane.stride[0],
            "stride_w": plane.stride[1],
        }
        return KernelCall(
            "ar_depthwise_conv_2d_s8_compact_dsp",
            "depthwise_conv_2d_s8_compact_dsp.h",
            self.kernels,
            "ar_depthwise_compact_params",
            fields,
        )

    def common_fields(self, ctx: LowerContext) -> dict[str, Any]:
        """Return the fields that the parameters of this kernel and of the one for windows of 3 x 3 share."""
        view, plane = view_convolution(ctx.graph, ctx.op), compact_plane(ctx.graph, ctx.op)
        layer = require_accepted(compact_layer(ctx.graph, ctx.op, AXIS, ctx.target))
        _, k_h, k_w, channels = layer.weights.shape
        taps = layer.weights.reshape(k_h, k_w, channels).transpose(2, 1, 0)
        words_and_table = layer.words_and_table
        return {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "weights": ctx.weights(np.ascontiguousarray(taps).astype(np.int8), "weights"),
            "bias": ctx.weights(words_and_table, "bias", words_and_table.nbytes - layer.words.nbytes),
            "scratch": ctx.scratch_ptr(),
            "format": layer.format_fields,
            "in_h": plane.input[0],
            "in_w": plane.input[1],
            "channels": channels,
            "out_h": plane.output[0],
            "out_w": plane.output[1],
            "pad_top": plane.padding[0],
            "pad_left": plane.padding[1],
            "zero_point": view.input.zero_point,
        }


def compact_plane(graph: Subgraph, op: Op) -> CompactPlane:
    """Return the sizes of a layer."""
    view = view_convolution(graph, op)
    pairs = (view.input.shape[1:3], view.output.shape[1:3], view.kernel, view.stride, view.padding)
    swap = view.input.shape[2] == view.output.shape[2] == view.kernel[1] == 1
    sizes = [(int(v[1]), int(v[0])) if swap else (int(v[0]), int(v[1])) for v in pairs]
    return CompactPlane(*sizes)
