"""The base class of the elementwise operators with one input. For int8 they use a table of 256 bytes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE, quantize_multiplier
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.core.lowering import (
    NULL,
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    require_dtype,
    require_quantized,
)
from arenite.firmware.generator.lower.core.row_functions import elementwise_rows
from arenite.firmware.generator.requant.lookup_tables import bytes_by_index
from arenite.firmware.generator.requant.reference_math import requant


def require_same_shape(op: Op, inp: Tensor, out: Tensor) -> None:
    """Raise ``UnsupportedModelError`` unless both tensors have the same shape."""
    if inp.shape != out.shape:
        raise refuse(
            op,
            out,
            f"has shape {list(out.shape)}, but its input has {list(inp.shape)}",
            "The model file contradicts itself. Export it again.",
        )


def map_8(ctx: LowerContext, table: np.ndarray, position: int = 0) -> KernelCall:
    """Return a call that maps the bytes of the input at ``position`` to bytes with ``table``, 256 bytes indexed by the
    input's byte."""
    return map_call(ctx, "map_8", ctx.table(table, "table"), position)


def map_s16(ctx: LowerContext, table: np.ndarray) -> KernelCall:
    """Return a call that maps int16 to int16, interpolated between the 513 samples of ``table``."""
    return map_call(ctx, "map_s16", ctx.table(table, "table"))


def map_call(ctx: LowerContext, name: str, table: Any = NULL, position: int = 0) -> KernelCall:
    """Return the call of the kernel ``name``, which maps each element of the input at ``position`` with ``table``."""
    fields = {
        "input": ctx.input_ptr(position),
        "output": ctx.output_ptr(),
        "table": table,
        "count": ctx.output().elements,
    }
    return KernelCall(f"ar_{name}", "map.h", (f"{name}.c",), "ar_map_params", fields)


def requantized_bytes(inp: Tensor, out: Tensor, real: float, limits: tuple[int, int]) -> np.ndarray:
    """Return the 256 output bytes (int8 or uint8), indexed by the input's byte (int8 or uint8): ``real`` times the
    input, clamped to ``limits``."""
    multiplier, shift = quantize_multiplier(real)
    low, high = limits
    first, last = INTEGER_RANGE[inp.dtype]
    return bytes_by_index(
        {
            q: min(max(requant(q - inp.zero_point, multiplier, shift) + out.zero_point, low), high)
            for q in range(first, last + 1)
        }
    )


class Unary(Lowering):
    """An operator with one input and an output of the same shape and type."""

    dtypes: ClassVar[tuple[str, ...]]
    quantized: ClassVar[tuple[str, ...]] = ("int8", "int16")  # types that must have a scale

    def check(self, graph: Subgraph, op: Op) -> None:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        require_dtype(op, inp, self.dtypes)
        require_dtype(op, out, (inp.dtype,))
        require_same_shape(op, inp, out)
        if inp.dtype in self.quantized:
            require_quantized(op, inp)
            require_quantized(op, out)

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    def rows(self, graph: Subgraph, op: Op) -> RowRequirements | None:
        return elementwise_rows(graph, op, "ar_map_8_row")

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        """Return the 256 output bytes for int8, indexed by the input's byte."""
        raise NotImplementedError

    def lower_wide(self, ctx: LowerContext, inp: Tensor, out: Tensor) -> KernelCall:
        """Return the call for any type except int8."""
        raise NotImplementedError

    def lower(self, ctx: LowerContext) -> KernelCall | None:
        inp, out = ctx.input_tensor(0), ctx.output()
        if inp.dtype == "int8":
            return map_8(ctx, self.table8(ctx.op, inp, out))
        return self.lower_wide(ctx, inp, out)
