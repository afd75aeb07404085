"""Lower ABS, NEG, SQRT, RSQRT, EXP and LOG to kernel calls."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import quantize_multiplier
from arenite.firmware.generator.lower.core.lowering import Expr, KernelCall, LowerContext, refuse, register
from arenite.firmware.generator.lower.elementwise.activation import leaky_call, scale_ratio
from arenite.firmware.generator.lower.elementwise.binary import TYPE_CODES
from arenite.firmware.generator.lower.elementwise.unary import Unary, map_s16
from arenite.firmware.generator.requant.lookup_tables import (
    Transform,
    bytes_by_index,
    table_int8,
    table_int16,
)
from arenite.firmware.generator.requant.reference_math import (
    INT32_MAX,
    float_to_int32,
    high_mul,
    libm,
    requant,
    round_shift,
)


def c_float(value: float) -> Expr:
    """Return a float literal that any C99 compiler reads back to the same bits."""
    return Expr(f"{float(np.float32(value)).hex()}f")


def negate_call(ctx: LowerContext, only_negative: bool) -> KernelCall:
    """Return the call that negates all elements, or only the negative elements."""
    out = ctx.output()
    fields = {
        "input": ctx.input_ptr(0),
        "output": ctx.output_ptr(),
        "count": out.elements,
        "type": TYPE_CODES[out.dtype],
        "only_negative": int(only_negative),
    }
    return KernelCall("ar_negate", "negate.h", ("negate.c",), "ar_negate_params", fields)


@register
class Abs(Unary):
    op_name = "ABS"
    supports = "int8, int16, int32"
    kernels = ("leaky_relu_s16.c", "map_8.c", "negate.c")
    dtypes = ("int8", "int16", "int32")

    def scaling(self, inp: Tensor, out: Tensor) -> tuple[int, int]:
        return quantize_multiplier(scale_ratio(inp, out))

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        scaling = self.scaling(inp, out)
        values = {}
        for q in range(-128, 128):
            y = requant(abs(q - inp.zero_point), *scaling) + out.zero_point
            values[q] = min(max(y, -128), 127)
        return bytes_by_index(values)

    def lower_wide(self, ctx: LowerContext, inp: Tensor, out: Tensor) -> KernelCall:
        if out.dtype == "int32":
            return negate_call(ctx, only_negative=True)
        scaling = self.scaling(inp, out)
        return leaky_call(ctx, scaling, scaling, magnitude=True)


@register
class Neg(Unary):
    op_name = "NEG"
    supports = "int8, int16, int32; changes the stored integers, as TFLite does"
    kernels = ("map_8.c", "negate.c")
    dtypes = ("int8", "int16", "int32")
    quantized = ()

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        return bytes_by_index({q: -q for q in range(-128, 128)})

    def lower_wide(self, ctx: LowerContext, inp: Tensor, out: Tensor) -> KernelCall:
        return negate_call(ctx, only_negative=False)


@register
class Sqrt(Unary):
    op_name = "SQRT"
    supports = "int8, int16; inputs below zero, which TFLite rejects at run time, count as zero"
    kernels = ("map_8.c", "sqrt_s16.c")
    dtypes = ("int8", "int16")

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        for index in (op.inputs[0], op.outputs[0]):
            tensor = graph.tensors[index]
            # With such a scale, the kernel has to compute with normal float32 numbers only.
            if not 1e-30 < tensor.scale < 1e30:
                raise refuse(
                    op, tensor, f"scale {tensor.scale:g} is out of range", "Calibrate the model again."
                )

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        values = {}
        for q in range(-128, 128):
            real = np.float32(inp.scale) * np.float32(max(q - inp.zero_point, 0))
            y = float_to_int32(float(np.sqrt(real) / np.float32(out.scale))) + out.zero_point
            values[q] = min(max(y, -128), 127)
        return bytes_by_index(values)

    def lower_wide(self, ctx: LowerContext, inp: Tensor, out: Tensor) -> KernelCall:
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "count": out.elements,
            "input_scale": c_float(inp.scale),
            "output_scale": c_float(out.scale),
        }
        return KernelCall("ar_sqrt_s16", "sqrt_s16.h", ("sqrt_s16.c",), "ar_sqrt_s16_params", fields)


def _saturating_shift(x: int, exponent: int) -> int:
    """Return ``x`` shifted left with saturation, like gemmlowp's SaturatingRoundingMultiplyByPOT with a positive
    exponent."""
    threshold = (1 << (31 - exponent)) - 1
    return INT32_MAX if x > threshold else -(2**31) if x < -threshold else x << exponent


def inverse_square_root(x: int) -> tuple[int, int]:
    """Return 1 / sqrt(x) of a positive int32 as (multiplier, shift), like TFLite's GetInvSqrtQuantizedMultiplierExp.

    The method is Newton's iteration, which starts at 1, in fixed point with 3 integer bits.
    """
    if x <= 1:
        return INT32_MAX, 0
    right = 11
    while x >= 1 << 29:
        x //= 4
        right += 1
    pairs = (32 - x.bit_length() - 1) // 2 - 1
    right -= pairs
    x = (x << 2 * pairs) >> 1
    half = round_shift(x, 1)
    y = 1 << 28
    for _ in range(5):
        cube = _saturating_shift(high_mul(high_mul(y, y), y), 6)
        y = _saturating_shift(high_mul((1 << 28) + (1 << 27), y) - high_mul(half, cube), 3)
    y = high_mul(y, 1518500250)  # sqrt(2) / 2 in Q0.31
    if right < 0:
        return y << -right, 0
    return y, -right


@register
class Rsqrt(Unary):
    op_name = "RSQRT"
    supports = "int8, int16; inputs below zero, which TFLite rejects at run time, give the largest output"
    kernels = ("map_8.c", "map_s16.c")
    dtypes = ("int8", "int16")

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        root = np.sqrt(np.float32(inp.scale))
        scaling = quantize_multiplier(1.0 / float(root * np.float32(out.scale)))
        values = {}
        for q in range(-128, 128):
            x = q - inp.zero_point
            y = 127
            if x > 0:
                # As in TFLite, the root has 20 additional bits until it is scaled.
                multiplier, shift = inverse_square_root(x)
                fine = requant(1, multiplier, shift + 20)
                y = requant(fine, scaling[0], scaling[1] - 20) + out.zero_point
            values[q] = min(max(y, -128), 127)
        return bytes_by_index(values)

    def lower_wide(self, ctx: LowerContext, inp: Tensor, out: Tensor) -> KernelCall:
        largest = np.float32(32767) * np.float32(out.scale)

        def transform(x: np.float32) -> np.float32:
            return largest if x <= 0 else np.float32(1) / np.sqrt(x)

        return map_s16(ctx, table_int16(transform, inp, out))


@register
class Exp(Unary):
    op_name = "EXP"
    supports = "int8, int16"
    kernels = ("map_8.c", "map_s16.c")
    dtypes = ("int8", "int16")

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        return table_int8(libm("expf"), inp, out)

    def lower_wide(self, ctx: LowerContext, inp: Tensor, out: Tensor) -> KernelCall:
        return map_s16(ctx, table_int16(libm("expf"), inp, out))


@register
class Log(Unary):
    op_name = "LOG"
    supports = "int8, int16; inputs of zero or less give the smallest output"
    kernels = ("map_8.c", "map_s16.c")
    dtypes = ("int8", "int16")

    def transform(self, out: Tensor) -> Transform:
        smallest = np.float32((-128 if out.dtype == "int8" else -32768) - out.zero_point) * np.float32(
            out.scale
        )
        return lambda x: smallest if x <= 0 else libm("logf")(x)

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        return table_int8(self.transform(out), inp, out)

    def lower_wide(self, ctx: LowerContext, inp: Tensor, out: Tensor) -> KernelCall:
        return map_s16(ctx, table_int16(self.transform(out), inp, out))
