"""Lower LOGISTIC, TANH, the RELU family, LEAKY_RELU, ELU and GELU to kernel calls."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE, quantize_multiplier, round_half_away
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, refuse, register
from arenite.firmware.generator.lower.elementwise.requantize import requantize_call
from arenite.firmware.generator.lower.elementwise.unary import Unary, map_s16, requantized_bytes
from arenite.firmware.generator.requant.lookup_tables import (
    Transform,
    bytes_by_index,
    sigmoid_table,
    table_int8,
    table_int16,
)
from arenite.firmware.generator.requant.reference_math import libm, log2_if_power_of_two, requant

ONE = np.float32(1)


class SigmoidLike(Unary):
    """The base class of LOGISTIC and TANH. int8 uses a table of 256 outputs, int16 interpolates in a table of the
    sigmoid."""

    dtypes = ("int8", "int16")
    kernel: ClassVar[str]
    #: Left shifts of the input to Q3.12 for which TFLite does not multiply, if the input's scale is a power of two.
    pot_shifts: ClassVar[tuple[int, ...]]

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        if out.dtype == "int16" and log2_if_power_of_two(out.scale) != -15:
            raise refuse(
                op,
                out,
                f"scale is {out.scale:g}, TFLite needs 1/32768",
                "Convert the model again with TFLite's converter.",
            )
        if inp.dtype == "int16" and not 0 < self.input_scaling(inp)[0] <= 0xFFFF:
            raise refuse(op, inp, f"scale {inp.scale:g} is out of range", "Calibrate the model on real data.")

    def input_scaling(self, inp: Tensor) -> tuple[int, int]:
        """Return the multiplier and the shift to the right that convert the input to steps of 1 / 12288, as TFLite
        does. The samples of ``sigmoid_table`` are 512 of these steps apart."""
        exponent = log2_if_power_of_two(inp.scale)
        if exponent is not None and exponent + 12 in self.pot_shifts:
            return 3 << (exponent + 12), 0
        real, shift = inp.scale * 4096.0 * 3.0, 0
        while real <= 32767.0 / 2.0 and shift <= 30:
            shift += 1
            real *= 2.0
        return int(real), shift

    @abstractmethod
    def transform(self, x: np.float32) -> np.float32:
        """Return the function's value at ``x``, as TFLite computes it for the int8 table."""

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        return table_int8(self.transform, inp, out)

    def lower_wide(self, ctx: LowerContext, inp: Tensor, out: Tensor) -> KernelCall:
        multiplier, shift = self.input_scaling(inp)
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "table": ctx.table(sigmoid_table(), "sigmoid"),
            "count": out.elements,
            "multiplier": multiplier,
            "shift": shift,
        }
        source = f"{self.kernel}.c"
        return KernelCall(
            f"ar_{self.kernel}", "sigmoid_table.h", (source,), "ar_sigmoid_table_params", fields
        )


@register
class Logistic(SigmoidLike):
    op_name = "LOGISTIC"
    supports = "int8 (output scale 1/256), int16 (output scale 1/32768)"
    kernels = ("map_8.c", "table_logistic_s16.c")
    kernel = "table_logistic_s16"
    pot_shifts = (0,)

    def transform(self, x: np.float32) -> np.float32:
        return ONE / (ONE + libm("expf")(-x))

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        out = graph.tensors[op.outputs[0]]
        expected = 1 / 256 if out.dtype == "int8" else 1 / 32768
        if out.scale != expected:
            raise refuse(
                op,
                out,
                f"scale is {out.scale:g}, TFLite needs {expected:g}",
                "Convert the model again with TFLite's converter.",
            )


@register
class Tanh(SigmoidLike):
    op_name = "TANH"
    supports = "int8, int16 (output scale 1/32768)"
    kernels = ("map_8.c", "table_tanh_s16.c")
    kernel = "table_tanh_s16"
    pot_shifts = (0, 1)

    def transform(self, x: np.float32) -> np.float32:
        return libm("tanhf")(x)


class ReluLike(Unary):
    """The base class of the RELU family. ``low`` and ``high`` are the limits of the real output."""

    dtypes: ClassVar[tuple[str, ...]] = ("int8", "int16")
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = math.inf

    def limits(self, out: Tensor) -> tuple[int, int]:
        """Return the smallest and the largest quantized output."""
        smallest, largest = INTEGER_RANGE[out.dtype]

        def quantized(real: float) -> int:
            return out.zero_point + round_half_away(float(np.float32(real) / np.float32(out.scale)))

        high = largest if math.isinf(self.high) else min(largest, quantized(self.high))
        return max(smallest, quantized(self.low)), high

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        return requantized_bytes(inp, out, scale_ratio(inp, out), self.limits(out))

    def lower_wide(self, ctx: LowerContext, inp: Tensor, out: Tensor) -> KernelCall:
        return requantize_call(ctx, scale_ratio(inp, out), self.limits(out))


def scale_ratio(inp: Tensor, out: Tensor) -> float:
    """Return input scale over output scale, divided in float32 as most operators do."""
    return float(np.float32(inp.scale) / np.float32(out.scale))


@register
class Relu(ReluLike):
    op_name = "RELU"
    supports = "int8, int16"
    kernels = ("map_8.c", "requantize.c")


@register
class Relu6(ReluLike):
    op_name = "RELU6"
    supports = "int8, int16"
    kernels = ("map_8.c", "requantize.c")
    high = 6.0


@register
class Relu0To1(ReluLike):
    op_name = "RELU_0_TO_1"
    supports = "int8"
    kernels = ("map_8.c",)
    dtypes = ("int8",)
    high = 1.0


@register
class ReluN1To1(ReluLike):
    op_name = "RELU_N1_TO_1"
    supports = "int8"
    kernels = ("map_8.c",)
    dtypes = ("int8",)
    low, high = -1.0, 1.0


@register
class LeakyRelu(Unary):
    op_name = "LEAKY_RELU"
    supports = "int8, int16; any alpha"
    kernels = ("leaky_relu_s16.c", "map_8.c")
    dtypes = ("int8", "int16")

    def scaling(self, op: Op, inp: Tensor, out: Tensor) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return (multiplier, shift) for inputs of zero or more, and (multiplier, shift) for negative inputs."""
        alpha = np.float32(inp.scale) * np.float32(op.options["alpha"]) / np.float32(out.scale)
        return quantize_multiplier(scale_ratio(inp, out)), quantize_multiplier(float(alpha))

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        positive, negative = self.scaling(op, inp, out)
        values = {}
        for q in range(-128, 128):
            x = q - inp.zero_point
            if x >= 0:
                y = requant(x, *positive)
            else:
                y = requant(x, abs(negative[0]), negative[1])
                y = -y if negative[0] < 0 else y
            values[q] = min(max(y + out.zero_point, -128), 127)
        return bytes_by_index(values)

    def lower_wide(self, ctx: LowerContext, inp: Tensor, out: Tensor) -> KernelCall:
        positive, negative = self.scaling(ctx.op, inp, out)
        return leaky_call(ctx, positive, (abs(negative[0]), negative[1]), sign=-1 if negative[0] < 0 else 1)


def leaky_call(
    ctx: LowerContext,
    positive: tuple[int, int],
    negative: tuple[int, int],
    *,
    magnitude: bool = False,
    sign: int = 1,
) -> KernelCall:
    """Return the call of the int16 kernel.

    ``positive`` is the (multiplier, shift) for inputs of zero or more, ``negative`` is the (multiplier, shift) for
    negative inputs. With ``magnitude``, negative inputs change sign before they are scaled. If ``sign`` is -1, they
    change sign after they are scaled.
    """
    fields = {
        "input": ctx.input_ptr(0),
        "output": ctx.output_ptr(),
        "count": ctx.output().elements,
        "multiplier": positive[0],
        "negative_multiplier": negative[0],
        "shift": positive[1],
        "negative_shift": negative[1],
        "magnitude": int(magnitude),
        "sign": sign,
    }
    return KernelCall(
        "ar_leaky_relu_s16", "leaky_relu.h", ("leaky_relu_s16.c",), "ar_leaky_relu_params", fields
    )


def _elu(x: np.float32) -> np.float32:
    return libm("expm1f")(x) if x < 0 else x


@register
class Elu(Unary):
    op_name = "ELU"
    supports = "int8"
    kernels = ("map_8.c",)
    dtypes = ("int8",)

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        return table_int8(_elu, inp, out)


HALF = np.float32(0.5)
MINUS_SQRT_HALF = np.float32(-math.sqrt(0.5))
SQRT_2_OVER_PI = np.float32(2 / math.sqrt(math.pi) * math.sqrt(0.5))
CUBIC = np.float32(0.044715)


def _gelu(x: np.float32) -> np.float32:
    return HALF * x * libm("erfcf")(x * MINUS_SQRT_HALF)


def _gelu_approximate(x: np.float32) -> np.float32:
    return HALF * x * (ONE + libm("tanhf")(SQRT_2_OVER_PI * (x + CUBIC * x * x * x)))


@register
class Gelu(Unary):
    op_name = "GELU"
    supports = "int8, int16; exact and approximate"
    kernels = ("map_8.c", "map_s16.c")
    dtypes = ("int8", "int16")

    def transform(self, op: Op) -> Transform:
        return _gelu_approximate if op.options.get("approximate") else _gelu

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        return table_int8(self.transform(op), inp, out)

    def lower_wide(self, ctx: LowerContext, inp: Tensor, out: Tensor) -> KernelCall:
        return map_s16(ctx, table_int16(self.transform(ctx.op), inp, out))
