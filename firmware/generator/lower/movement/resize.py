"""Lower RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR to kernel calls."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_dtype,
    u16,
)
from arenite.firmware.generator.lower.movement.rearrange import integers


class Resize(Lowering):
    """The base class of both operators, with their checks."""

    dtypes: ClassVar[tuple[str, ...]]

    def check(self, graph: Subgraph, op: Op) -> None:
        x, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        require_dtype(op, x, self.dtypes)
        require_dtype(op, out, (x.dtype,))
        size = integers(graph, op, 1, "the size")
        if len(x.shape) != 4 or not x.elements:
            raise refuse(
                op, x, "needs rank 4 and at least one element", "Export the model with a reshape before it."
            )
        if len(size) != 2 or min(size) < 1 or out.shape != (x.shape[0], *size, x.shape[3]):
            raise refuse(
                op,
                out,
                f"shape {list(out.shape)} does not match the size {size}",
                "Export the model again, because its shapes do not agree.",
            )
        for value in (*x.shape, *out.shape):
            u16(op, value, "a dimension")


def bilinear_axis(in_size: int, out_size: int, align_corners: bool, half_pixel: bool) -> tuple[int, int]:
    """Return (step, start) of one direction in 1/1024 pixels (``ResizeBilinearInteger`` of resize_bilinear.h)."""
    if align_corners and out_size > 1:
        step = (1024 * (in_size - 1) + (out_size - 1) // 2) // (out_size - 1)
    else:
        step = (1024 * in_size + out_size // 2) // out_size
    return step, step // 2 - 512 if half_pixel else 0


@register
class ResizeBilinear(Resize):
    op_name = "RESIZE_BILINEAR"
    supports = "int8, int16; constant size; align_corners or half_pixel_centers"
    kernels = ("resize_bilinear_s16.c", "resize_bilinear_s8.c")
    dtypes = ("int8", "int16")

    def axes(self, graph: Subgraph, op: Op) -> list[dict[str, int]]:
        """Return the kernel's fields for the vertical and the horizontal direction."""
        x, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        flags = bool(op.options["align_corners"]), bool(op.options["half_pixel_centers"])
        axis_tables = []
        for k in (1, 2):
            step, start = bilinear_axis(x.shape[k], out.shape[k], *flags)
            axis_tables.append(
                {"step": step, "start": start, "in_size": x.shape[k], "out_size": out.shape[k]}
            )
        return axis_tables

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        if op.options["align_corners"] and op.options["half_pixel_centers"]:
            raise refuse(op, None, "both align_corners and half_pixel_centers are set", "Choose one.")
        for axis in self.axes(graph, op):
            # With the rounded step, the last output may lie beyond the last pixel. LiteRT then reads beyond the image.
            last = (axis["out_size"] - 1) * axis["step"] + axis["start"]
            if last >> 10 >= axis["in_size"]:
                raise refuse(
                    op,
                    graph.tensors[op.outputs[0]],
                    f"the rounded step from {axis['in_size']} to {axis['out_size']} pixels is too coarse: the last "
                    "output would lie beyond the image",
                    "Resize in two steps.",
                )

    def lower(self, ctx: LowerContext) -> KernelCall:
        x = ctx.input_tensor(0)
        y_axis, x_axis = self.axes(ctx.graph, ctx.op)
        kernel = f"resize_bilinear_{'s8' if x.dtype == 'int8' else 's16'}"
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "y": y_axis,
            "x": x_axis,
            "batches": x.shape[0],
            "depth": x.shape[3],
        }
        return KernelCall(f"ar_{kernel}", "resize.h", (f"{kernel}.c",), "ar_resize_bilinear_params", fields)


def nearest(in_size: int, out_size: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    """Return the input position for each output position, in float32 like ``GetNearestNeighbor`` of
    resize_nearest_neighbor.h."""
    if align_corners and out_size > 1:
        scale = np.float32(in_size - 1) / np.float32(out_size - 1)
    else:
        scale = np.float32(in_size) / np.float32(out_size)
    offset = np.float32(0.5 if half_pixel else 0.0)
    at = ((np.arange(out_size, dtype=np.float32) + offset) * scale).astype(np.float64)
    # Positions are never negative, so rounding half away from zero equals rounding half up.
    positions = np.floor(at + 0.5) if align_corners else np.floor(at)
    return np.minimum(positions, in_size - 1).astype(np.uint16)


@register
class ResizeNearest(Resize):
    op_name = "RESIZE_NEAREST_NEIGHBOR"
    supports = "int8, int16, int32, float32; constant size; align_corners, half_pixel_centers"
    kernels = ("resize_nearest.c",)
    dtypes = ("int8", "uint8", "int16", "int32", "float32")

    def lower(self, ctx: LowerContext) -> KernelCall:
        x, out, o = ctx.input_tensor(0), ctx.output(), ctx.op.options
        flags = bool(o["align_corners"]), bool(o["half_pixel_centers"])
        rows, columns = (nearest(x.shape[k], out.shape[k], *flags) for k in (1, 2))
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "rows": ctx.table(rows, "rows"),
            "columns": ctx.table(columns, "columns"),
            "pixel": math.prod(x.shape[3:]) * x.itemsize,
            "batches": x.shape[0],
            "in_h": x.shape[1],
            "in_w": x.shape[2],
            "out_h": out.shape[1],
            "out_w": out.shape[2],
        }
        return KernelCall(
            "ar_resize_nearest", "resize.h", ("resize_nearest.c",), "ar_resize_nearest_params", fields
        )
