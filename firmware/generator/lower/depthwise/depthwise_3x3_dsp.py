"""Lower int8 DEPTHWISE_CONV_2D with 3 x 3 windows on cores with the DSP extension to ``depthwise_3x3_s8_dsp.c``."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.core.lowering import Expr, KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.fixed_shift import FixedShift, fix_shift
from arenite.firmware.generator.requant.folded_layer import FoldedLayer, fold_convolution
from arenite.firmware.generator.target import DSP, Target

#: From depthwise_3x3_s8_dsp.h: bytes of the constants, bytes of a block of lines, and input pixels of a block.
_TABLE, _BLOCK, _PIXELS = 4 * 96 + 4, 4 * 48, 6
#: The blocks of a strip, of which a single row has several: AR_DW_STRIP_BLOCKS.
STRIP_BLOCKS = 2
#: From depthwise_3x3_row_s8_dsp.h: bytes of the constants and of the only block of the kernel for single rows at stride
#: 1.
_ROW_SCRATCH = 4 * 28 + 4 * 48
#: Channels that are read and computed together.
_GROUP = 4
#: The shift of the kernels' requantization, and the axis of the channels in the weights.
_SHIFT, _AXIS = 8, 3

#: Approximate instructions for four channels: to build new tables, to widen a pixel again, and to begin a strip.
_NEW_TABLE, _NEW_PIXEL, _NEW_STRIP = 140, 9, 370
#: The time that a line of outputs takes in addition to its blocks, in blocks (measured).
_LINE_BLOCKS = 0.6
#: Sources of the kernel for single rows at stride 1.
_ROW_S1 = (
    "depthwise_3x3_row_s8_dsp.c",
    "depthwise_columns_s8_dsp.c",
    "depthwise_strip_s8_dsp.c",
)


@variant
class Depthwise3x3Dsp(Variant):
    op_name = "DEPTHWISE_CONV_2D"
    tiers = (DSP,)
    priority = 200
    kernels = (
        "depthwise_3x3_s1_s8_dsp.c",
        "depthwise_3x3_s2_s8_dsp.c",
        "depthwise_3x3_s8_dsp.c",
        "depthwise_line_s8_dsp.c",
        "depthwise_table_s8_dsp.c",
        *_ROW_S1,
    )
    row_function = "ar_depthwise_3x3_s8_dsp_row"
    #: The axis of the images along which the kernel computes blocks of outputs.
    along: ClassVar[int] = 2

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w, o = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], op.options
        if inp.dtype != "int8" or w.shape[1:3] != (3, 3) or w.shape[3] != inp.shape[3]:
            return False
        if inp.shape[3] < _GROUP:
            return False
        if o["stride_h"] != o["stride_w"] or o["stride_w"] not in (1, 2):
            return False
        if o["dilation_h_factor"] != 1 or o["dilation_w_factor"] != 1:
            return False
        return _prepare(graph, op) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        # The constants, the blocks of the lines, and one more block.
        return _TABLE + (_blocks(graph, op, self.along) + 1) * _BLOCK

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        """Return the requirements. The kernel for one row builds its tables again for each row, and widens input rows
        that were already widened for the previous row. At stride 1 the output row may overwrite any of them, because
        the kernel widens the columns of a block before it writes the block's outputs."""
        row_needs = super().rows(graph, op, target)
        if row_needs is None:
            return None
        _, _, width, channels = graph.tensors[op.inputs[0]].shape
        # The window has 3 input rows, and ``stride_h`` of them are new.
        repeated = (3 - op.options["stride_h"]) * width * _NEW_PIXEL
        rows = graph.tensors[op.outputs[0]].shape[1]
        extra = row_needs.extra + rows * -(-channels // _GROUP) * (_NEW_TABLE + repeated)
        if op.options["stride_h"] != 1:
            blocks = _blocks(graph, op, self.along)
            strips = -(-blocks // STRIP_BLOCKS)
            extra += rows * -(-channels // _GROUP) * (strips - 1) * _NEW_STRIP
            return replace(row_needs, extra=extra, scratch=_TABLE + (min(blocks, STRIP_BLOCKS) + 1) * _BLOCK)
        kernel = "depthwise_3x3_s1_s8_dsp.c"  # the parameters hold its address
        return replace(
            row_needs,
            extra=extra,
            scratch=_ROW_SCRATCH,
            in_place=(0,),
            function="ar_depthwise_3x3_s1_s8_dsp_row",
            sources=(*_ROW_S1, kernel),
            headers=("depthwise_3x3_row_s8_dsp.h",),
        )

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (0, 0) at stride 1, where an output row overwrites an input row only after that row has been
        widened."""
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        return ((0, 0),) if op.options["stride_h"] == 1 and inp.shape == out.shape else ()

    def lower(self, ctx: LowerContext) -> KernelCall:
        return self.call(ctx, "ar_depthwise_3x3_s8_dsp", (0, 1, 2, 3))

    def call(self, ctx: LowerContext, function: str, axes: tuple[int, ...]) -> KernelCall:
        """Return the call of ``function``. ``axes`` is the order of the weights' axes."""
        view = view_convolution(ctx.graph, ctx.op)
        inp, out, stride = view.input, view.output, view.stride[1]
        folded, fixed = require_accepted(_prepare(ctx.graph, ctx.op))
        kernel = f"depthwise_3x3_s{stride}_s8_dsp"
        return KernelCall(
            function,
            "depthwise_3x3_s8_dsp.h",
            ("depthwise_3x3_s8_dsp.c", "depthwise_line_s8_dsp.c", "depthwise_table_s8_dsp.c", f"{kernel}.c"),
            "ar_depthwise_3x3_dsp_params",
            {
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "weights": ctx.weights(folded.weights.astype(np.int8).transpose(axes), "weights"),
                "bias": ctx.weights(fixed.bias, "bias"),
                "multiplier": ctx.table(fixed.multiplier, "multiplier"),
                "kernel": Expr(f"ar_{kernel}"),
                "scratch": ctx.scratch_ptr(),
                "rounding": fixed.rounding,
                "batches": inp.shape[0],
                "in_h": inp.shape[1],
                "in_w": inp.shape[2],
                "channels": inp.shape[3],
                "out_h": out.shape[1],
                "out_w": out.shape[2],
                "pad_top": view.padding[0],
                "pad_left": view.padding[1],
                "stride": stride,
                "zero_point": folded.input_zero_point,
            },
        )


def _blocks(graph: Subgraph, op: Op, along: int) -> int:
    """Return the number of blocks of a line. Lines go along axis ``along`` of the image."""
    outputs = _PIXELS // int(op.options["stride_w"])
    return -(-int(graph.tensors[op.outputs[0]].shape[along]) // outputs)


@variant
class Depthwise3x3ColumnsDsp(Depthwise3x3Dsp):
    """The same kernel along the columns of images, in builds for speed, if that takes fewer blocks."""

    priority = 205
    row_function = ""
    along = 1

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "speed" or target.cores > 1 or not super().can_run(graph, op, target):
            return False
        view = view_convolution(graph, op)
        outputs = _PIXELS // view.stride[0]
        _, height, width, _ = view.output.shape
        rows, columns = (
            lines * (-(-length // outputs) + _LINE_BLOCKS)
            for lines, length in ((height, width), (width, height))
        )
        return view.padding[0] <= 1 and columns < rows

    def lower(self, ctx: LowerContext) -> KernelCall:
        return self.call(ctx, "ar_depthwise_3x3_columns_s8_dsp", (0, 2, 1, 3))


def _prepare(graph: Subgraph, op: Op) -> tuple[FoldedLayer, FixedShift] | None:
    """Return the folded layer and its requantization with the kernels' shift; None if the kernels cannot run it
    exactly."""
    folded = fold_convolution(graph, op, _AXIS)
    if folded is None or folded.clamps:
        return None
    fixed = fix_shift(folded, _AXIS, _SHIFT)
    return None if fixed is None else (folded, fixed)
