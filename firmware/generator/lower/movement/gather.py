"""Lower GATHER, GATHER_ND and ONE_HOT to kernel calls."""

from __future__ import annotations

import math

import numpy as np

from arenite.converters.graph.byte_table import byte_table_of
from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.firmware.generator.lower.core.lowering import (
    Expr,
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_dtype,
    u16,
)
from arenite.firmware.generator.lower.elementwise.unary import map_8
from arenite.firmware.generator.lower.movement.movement import ANY_TYPE
from arenite.firmware.generator.lower.movement.rearrange import axis_of, integers

INDEX_TYPES = ("int16", "int32", "int64")
#: The largest number of dimensions that GATHER_ND can index: AR_GATHER_ND_DIMS in gather.h.
MAX_DIMS = 8


def require_in_range(op: Op, indices: Tensor, sizes: np.ndarray | int) -> None:
    """Raise ``UnsupportedModelError`` for constant indices outside of ``sizes``, which LiteRT rejects too. ``sizes``
    broadcasts over the last axis of the indices."""
    if indices.data is not None and bool(((indices.data < 0) | (indices.data >= sizes)).any()):
        raise refuse(
            op,
            indices,
            "holds an index outside of the dimension",
            "Export the model with indices from 0 to the dimension - 1.",
        )


def stored_indices(ctx: LowerContext, indices: Tensor, position: int) -> tuple[Expr, int]:
    """Return (address, bytes per index) of the indices. Constant indices are stored in the narrowest possible type."""
    if indices.data is None:
        return ctx.input_ptr(position), indices.itemsize
    return narrow_table(ctx, indices.data)


def narrow_table(ctx: LowerContext, values: np.ndarray) -> tuple[Expr, int]:
    """Store indices in flash as int16 or int32. Return (address, bytes per index)."""
    narrow = np.int16 if values.size == 0 or int(values.max()) < 2**15 else np.int32
    return ctx.table(values.astype(narrow), "indices"), np.dtype(narrow).itemsize


@register
class Gather(Lowering):
    op_name = "GATHER"
    supports = (
        "any type; indices int16, int32 or int64, constant or computed (computed indices outside the dimension are"
        " clamped, while LiteRT stops with an error); batch dimensions"
    )
    kernels = ("gather.c", "map_8.c")

    def dims(self, graph: Subgraph, op: Op) -> tuple[int, int]:
        """Return the axis and the number of batch dimensions, counted from the front."""
        x, indices = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        axis = axis_of(op, int(op.options["axis"]), len(x.shape))
        batch = int(op.options["batch_dims"])
        return axis, batch + len(indices.shape) if batch < 0 else batch

    def check(self, graph: Subgraph, op: Op) -> None:
        x, indices = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        out = graph.tensors[op.outputs[0]]
        require_dtype(op, x, ANY_TYPE)
        require_dtype(op, out, (x.dtype,))
        require_dtype(op, indices, INDEX_TYPES)
        axis, batch = self.dims(graph, op)
        if not x.shape or not 0 <= batch <= min(axis, len(indices.shape)):
            raise refuse(
                op,
                x,
                f"axis {axis} and {batch} batch dimensions do not fit its {len(x.shape)} dimensions",
                "Export the model with 0 <= batch dimensions <= axis < rank.",
            )
        expected = (*x.shape[:axis], *indices.shape[batch:], *x.shape[axis + 1 :])
        if x.shape[:batch] != indices.shape[:batch] or out.shape != expected or not x.shape[axis]:
            raise refuse(
                op,
                out,
                f"shape {list(out.shape)}, expected {list(expected)}",
                "Export the model again, because its shapes do not agree.",
            )
        require_in_range(op, indices, x.shape[axis])
        u16(op, math.prod(x.shape[:batch]), "the product of the batch dimensions")

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        return () if byte_table_of(graph, op) is None else ((1, 0),)

    def lower(self, ctx: LowerContext) -> KernelCall:
        table = byte_table_of(ctx.graph, ctx.op)
        if table is not None:
            return map_8(ctx, table.values, position=1)
        x, indices = ctx.input_tensor(0), ctx.input_tensor(1)
        axis, batch = self.dims(ctx.graph, ctx.op)
        address, width = stored_indices(ctx, indices, 1)
        fields = {
            "input": ctx.input_ptr(0),
            "indices": address,
            "output": ctx.output_ptr(),
            "slice": math.prod(x.shape[axis + 1 :]) * x.itemsize,
            "outer": math.prod(x.shape[batch:axis]),
            "axis": x.shape[axis],
            "index_count": math.prod(indices.shape[batch:]),
            "batches": math.prod(x.shape[:batch]),
            "index_bytes": width,
        }
        return KernelCall("ar_gather", "gather.h", ("gather.c",), "ar_gather_params", fields)


@register
class GatherNd(Lowering):
    op_name = "GATHER_ND"
    supports = "any type; indices int16, int32 or int64, constant or computed (clamped as in GATHER)"
    kernels = ("gather.c", "gather_nd.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        x, indices = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        out = graph.tensors[op.outputs[0]]
        require_dtype(op, x, ANY_TYPE)
        require_dtype(op, out, (x.dtype,))
        require_dtype(op, indices, INDEX_TYPES)
        if not x.shape or not indices.shape or not x.elements:
            raise refuse(
                op,
                x,
                "the input and the indices need at least one dimension",
                "Export the model with a reshape before it.",
            )
        depth = indices.shape[-1]
        if depth > min(len(x.shape), MAX_DIMS):
            raise refuse(
                op,
                indices,
                f"indexes {depth} dimensions of an input with {len(x.shape)}",
                "Export the model with shorter indices.",
            )
        expected = (*indices.shape[:-1], *x.shape[depth:])
        if out.shape != expected:
            raise refuse(
                op,
                out,
                f"shape {list(out.shape)}, expected {list(expected)}",
                "Export the model again, because its shapes do not agree.",
            )
        require_in_range(op, indices, np.array(x.shape[:depth]))

    def lower(self, ctx: LowerContext) -> KernelCall:
        x, indices = ctx.input_tensor(0), ctx.input_tensor(1)
        depth = indices.shape[-1]
        size = math.prod(x.shape[depth:]) * x.itemsize
        rows = math.prod(indices.shape[:-1])
        common = {"input": ctx.input_ptr(0), "output": ctx.output_ptr(), "slice": size}
        if indices.data is not None:
            # Constant indices: use GATHER over the slices as one axis.
            weights = [math.prod(x.shape[k + 1 : depth]) for k in range(depth)]
            flat = indices.data.reshape(rows, depth).astype(np.int64) @ np.array(weights, np.int64)
            address, width = narrow_table(ctx, flat)
            fields = common | {
                "indices": address,
                "outer": 1,
                "axis": math.prod(x.shape[:depth]),
                "index_count": rows,
                "batches": 1,
                "index_bytes": width,
            }
            return KernelCall("ar_gather", "gather.h", ("gather.c",), "ar_gather_params", fields)
        fields = common | {
            "indices": ctx.input_ptr(1),
            "rows": rows,
            "size": list(x.shape[:depth]) or [0],
            "stride": [math.prod(x.shape[k + 1 :]) * x.itemsize for k in range(depth)] or [0],
            "depth": depth,
            "index_bytes": indices.itemsize,
        }
        return KernelCall("ar_gather_nd", "gather.h", ("gather_nd.c",), "ar_gather_nd_params", fields)


@register
class OneHot(Lowering):
    op_name = "ONE_HOT"
    supports = "int8, int32, int64, bool, float32; constant depth; indices int32 or int64"
    kernels = ("one_hot.c",)

    def check(self, graph: Subgraph, op: Op) -> None:
        indices, _, on, off = (graph.tensors[i] for i in op.inputs)
        out = graph.tensors[op.outputs[0]]
        require_dtype(op, indices, ("int32", "int64"))
        require_dtype(op, out, ("int8", "uint8", "int32", "int64", "bool", "float32"))
        for t in (on, off):
            require_dtype(op, t, (out.dtype,))
            if t.elements != 1:
                raise refuse(op, t, "is not a single value", "Give one value.")
        axis, depth = self.place(graph, op)
        expected = (*indices.shape[:axis], depth, *indices.shape[axis:])
        if out.shape != expected:
            raise refuse(
                op,
                out,
                f"shape {list(out.shape)}, expected {list(expected)}",
                "Export the model again, because its shapes do not agree.",
            )

    def place(self, graph: Subgraph, op: Op) -> tuple[int, int]:
        """Return (axis, size) of the new dimension."""
        rank = len(graph.tensors[op.inputs[0]].shape)
        axis = int(op.options["axis"])
        if not -1 <= axis <= rank:
            raise refuse(
                op,
                None,
                f"axis {axis} does not fit rank {rank}",
                f"Export the model with an axis from -1 to {rank}.",
            )
        depth = integers(graph, op, 1, "the depth")
        if len(depth) != 1 or depth[0] < 0:
            raise refuse(
                op,
                graph.tensors[op.inputs[1]],
                f"depth {depth} is not one size",
                "Export the model with one depth of at least 0.",
            )
        return rank if axis == -1 else axis, depth[0]

    def lower(self, ctx: LowerContext) -> KernelCall:
        indices = ctx.input_tensor(0)
        axis, depth = self.place(ctx.graph, ctx.op)
        fields = {
            "indices": ctx.input_ptr(0),
            "on": ctx.input_ptr(2),
            "off": ctx.input_ptr(3),
            "output": ctx.output_ptr(),
            "outer": math.prod(indices.shape[:axis]),
            "depth": depth,
            "inner": math.prod(indices.shape[axis:]),
            "index_bytes": indices.itemsize,
            "element": ctx.output().itemsize,
        }
        return KernelCall("ar_one_hot", "gather.h", ("one_hot.c",), "ar_one_hot_params", fields)
