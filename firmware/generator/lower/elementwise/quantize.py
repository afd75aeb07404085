"""Lower QUANTIZE and DEQUANTIZE to kernel calls."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE
from arenite.firmware.generator.lower.core.copy_call import copy_call
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_dtype,
    require_quantized,
)
from arenite.firmware.generator.lower.elementwise.arithmetic import c_float
from arenite.firmware.generator.lower.elementwise.binary import TYPE_CODES
from arenite.firmware.generator.lower.elementwise.requantize import requantize_call
from arenite.firmware.generator.lower.elementwise.unary import (
    map_8,
    map_call,
    requantized_bytes,
    require_same_shape,
)

BYTES = ("int8", "uint8")
#: Output types of TFLite's QUANTIZE, by input type.
TARGETS = {
    "float32": ("int8", "uint8", "int16"),
    "int8": ("int8", "uint8", "int16"),
    "uint8": ("int8", "uint8", "int16"),
    "int16": ("int8", "int16", "int32"),
    "int32": ("int8", "int16"),
}


def float_call(ctx: LowerContext, name: str, real: Tensor, stored: Tensor) -> KernelCall:
    """Return the call of ``name`` between the float32 tensor ``real`` and the integers ``stored``, in either
    direction."""
    fields = {
        "input": ctx.input_ptr(0),
        "output": ctx.output_ptr(),
        "count": real.elements,
        "scale": c_float(stored.scale),
        "zero_point": stored.zero_point,
        "type": TYPE_CODES[stored.dtype],
    }
    return KernelCall(f"ar_{name}", "quantize.h", (f"{name}.c",), "ar_quantize_params", fields)


def is_identity(inp: Tensor, out: Tensor) -> bool:
    """Return whether both tensors have the same type, scale and zero point."""
    return inp.dtype == out.dtype and inp.quant is not None and inp.quant == out.quant


def is_flip(inp: Tensor, out: Tensor) -> bool:
    """Return whether one tensor is int8 and one uint8, with equal scales and zero points 128 apart, so the bytes differ
    only in the top bit."""
    zeros = {t.dtype: t.zero_point for t in (inp, out)}
    return inp.scale == out.scale and set(zeros) == set(BYTES) and zeros["uint8"] - zeros["int8"] == 128


@register
class Quantize(Lowering):
    op_name = "QUANTIZE"
    supports = "float32 to int8, uint8, int16; int8, uint8, int16, int32 to each other where TFLite does"
    kernels = ("flip_8.c", "map_8.c", "quantize_f32.c", "requantize.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        require_dtype(op, inp, tuple(TARGETS))
        require_dtype(op, out, TARGETS[inp.dtype])
        require_same_shape(op, inp, out)
        require_quantized(op, out)
        if inp.dtype != "float32":
            require_quantized(op, inp, any_zero_point=out.dtype == "int32")

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        return ((0, 0),) if out.itemsize == 1 or inp.dtype == out.dtype else ()

    def alias(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        return ((0, 0),) if is_identity(inp, out) else ()

    def lower(self, ctx: LowerContext) -> KernelCall | None:
        inp, out = ctx.input_tensor(0), ctx.output()
        if inp.dtype == "float32":
            return float_call(ctx, "quantize_f32", inp, out)
        if is_identity(inp, out):
            return copy_call(ctx)
        real = inp.scale / out.scale  # in double, unlike other operators
        limits = INTEGER_RANGE[out.dtype]
        if inp.dtype in BYTES and out.dtype in BYTES:
            if is_flip(inp, out):
                return map_call(ctx, "flip_8")
            return map_8(ctx, requantized_bytes(inp, out, real, limits))
        return requantize_call(ctx, real, limits)


@register
class Dequantize(Lowering):
    op_name = "DEQUANTIZE"
    supports = "int8, uint8, int16 to float32"
    kernels = ("dequantize_f32.c",)

    def check(self, graph: Subgraph, op: Op) -> None:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        require_dtype(op, inp, ("int8", "uint8", "int16"))
        require_dtype(op, out, ("float32",))
        require_same_shape(op, inp, out)
        require_quantized(op, inp)
        # With such a scale, every output is 0 or a normal float32 number.
        if not inp.scale > 2.0**-120:
            raise refuse(op, inp, f"scale {inp.scale:g} is too small", "Calibrate the model on real data.")

    def lower(self, ctx: LowerContext) -> KernelCall:
        inp, out = ctx.input_tensor(0), ctx.output()
        return float_call(ctx, "dequantize_f32", out, inp)
