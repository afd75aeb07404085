"""Lower AVERAGE_POOL_2D and MAX_POOL_2D to kernel calls."""

from __future__ import annotations

from typing import ClassVar

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import activation_range, conv_padding
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.conv.conv_2d import SUFFIX
from arenite.firmware.generator.lower.conv.convolution import check_activations
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, Lowering, register, u16
from arenite.firmware.generator.lower.core.row_functions import accumulating_rows, pool_rows


class Pool2D(Lowering):
    """The base class of both operators. ``kernel`` is the name of the C function without ``ar_`` and the type."""

    supports = "int8, int16"
    kernel: ClassVar[str]

    def check(self, graph: Subgraph, op: Op) -> None:
        check_activations(op, graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]])

    def rows(self, graph: Subgraph, op: Op) -> RowRequirements | None:
        return pool_rows(graph, op, f"ar_{self.kernel}_s8_row")

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, inp, out = ctx.op, ctx.input_tensor(0), ctx.output()
        o = op.options
        batches, in_h, in_w, channels = inp.shape
        _, top = conv_padding(o["padding"], in_h, o["filter_height"], o["stride_h"], 1)
        _, left = conv_padding(o["padding"], in_w, o["filter_width"], o["stride_w"], 1)
        act_min, act_max = activation_range(o["fused_activation_function"], out)
        kernel = f"{self.kernel}_{SUFFIX[inp.dtype]}"
        return KernelCall(
            f"ar_{kernel}",
            "pool_2d.h",
            (f"{kernel}.c",),
            "ar_pool_2d_params",
            {
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "batches": u16(op, batches, "batch size"),
                "in_h": u16(op, in_h, "input height"),
                "in_w": u16(op, in_w, "input width"),
                "channels": u16(op, channels, "channels"),
                "out_h": u16(op, out.shape[1], "output height"),
                "out_w": u16(op, out.shape[2], "output width"),
                "k_h": u16(op, o["filter_height"], "window height"),
                "k_w": u16(op, o["filter_width"], "window width"),
                "pad_top": u16(op, top, "padding"),
                "pad_left": u16(op, left, "padding"),
                "stride_h": u16(op, o["stride_h"], "vertical stride"),
                "stride_w": u16(op, o["stride_w"], "horizontal stride"),
                "act_min": act_min,
                "act_max": act_max,
                "sums": ctx.state_ptr(),
            },
        )


@register
class AveragePool2D(Pool2D):
    op_name = "AVERAGE_POOL_2D"
    kernels = ("average_pool_2d_s16.c", "average_pool_2d_s8.c")
    kernel = "average_pool_2d"

    def rows(self, graph: Subgraph, op: Op) -> RowRequirements | None:
        inp, o = graph.tensors[op.inputs[0]], op.options
        is_global = (o["filter_height"], o["filter_width"]) == inp.shape[1:3]
        if is_global and graph.tensors[op.outputs[0]].elements == inp.shape[3]:
            return accumulating_rows(graph, op, "ar_average_pool_2d_s8_add")
        return super().rows(graph, op)


@register
class MaxPool2D(Pool2D):
    op_name = "MAX_POOL_2D"
    kernels = ("max_pool_2d_s16.c", "max_pool_2d_s8.c")
    kernel = "max_pool_2d"
