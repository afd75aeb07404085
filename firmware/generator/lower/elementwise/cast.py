"""Lower CAST to a kernel call."""

from __future__ import annotations

from arenite.converters.graph.byte_table import byte_table_of
from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.firmware.generator.lower.core.copy_call import copy_bytes, copy_call
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_dtype,
)
from arenite.firmware.generator.lower.elementwise.binary import TYPE_CODES
from arenite.firmware.generator.lower.elementwise.unary import require_same_shape

#: TensorType in the TFLite schema.
CODES = TYPE_CODES | {"uint32": TYPE_CODES["int32"], "int64": 4, "float32": 0}

#: Pairs of types that the kernels do not cast to each other.
_REFUSED = ({"int64", "float32"}, {"int64", "uint32"}, {"float32", "uint32"})


def same_bytes(inp: Tensor, out: Tensor) -> bool:
    """Return whether every value keeps its bytes: the types are equal, or differ only in the sign, or a byte or bool
    becomes a byte."""
    if inp.dtype == out.dtype or {inp.dtype, out.dtype} == {"int32", "uint32"}:
        return True
    return inp.dtype in ("int8", "uint8", "bool") and out.dtype in ("int8", "uint8")


@register
class Cast(Lowering):
    op_name = "CAST"
    supports = (
        "bool, int8, uint8, int16, int32, int64 to each other; uint32 to and from all of them but int64; float32 to "
        "and from all but int64 and uint32"
    )
    kernels = ("cast_from_f32.c", "cast_int.c", "cast_to_f32.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        for t in (inp, out):
            require_dtype(op, t, tuple(CODES))
        require_same_shape(op, inp, out)
        if {inp.dtype, out.dtype} in _REFUSED:
            raise refuse(op, out, f"{inp.dtype} to {out.dtype} is not supported", "Cast to int32 first.")

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        out = graph.tensors[op.outputs[0]]
        return ((0, 0),) if out.itemsize == 1 else ()

    def alias(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        return ((0, 0),) if same_bytes(inp, out) or byte_table_of(graph, op) is not None else ()

    def lower(self, ctx: LowerContext) -> KernelCall | None:
        inp, out = ctx.input_tensor(0), ctx.output()
        if byte_table_of(ctx.graph, ctx.op) is not None:
            return copy_bytes(ctx)
        if same_bytes(inp, out):
            return copy_call(ctx)
        name = "cast_int"
        if inp.dtype == "float32":
            name = "cast_from_f32"
        elif out.dtype == "float32":
            name = "cast_to_f32"
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "count": out.elements,
            "input_type": CODES[inp.dtype],
            "output_type": CODES[out.dtype],
        }
        return KernelCall(f"ar_{name}", "cast.h", (f"{name}.c",), "ar_cast_params", fields)
