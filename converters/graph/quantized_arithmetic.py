"""TFLite's integer arithmetic of quantized operators, in Python.

Sources: TFLite's quantization_util (QuantizeMultiplier) and kernel_util (activation ranges).
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from arenite.converters.graph.tensor import Tensor

#: The schema's ActivationFunctionType.
NONE, RELU, RELU_N1_TO_1, RELU6 = 0, 1, 2, 3

INTEGER_RANGE = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "int32": (-(2**31), 2**31 - 1),
}


def quantize_multiplier(real: float) -> tuple[int, int]:
    """Return ``(multiplier, shift)`` such that multiplier * 2**(shift - 31) is ``real``, rounded to 31 bits.

    The multiplier is 0 or in [2**30, 2**31). Multipliers below 2**-32 become 0, as in TFLite.
    """
    if real == 0.0:
        return 0, 0
    mantissa, shift = math.frexp(real)
    multiplier = round_half_away(mantissa * (1 << 31))
    if multiplier == 1 << 31:
        multiplier //= 2
        shift += 1
    if shift < -31:
        return 0, 0
    if shift > 30:
        return (1 << 31) - 1, 30
    return multiplier, shift


def float_product_ratio(a: float, b: float, c: float) -> float:
    """Return ``a * b / c``, rounded to float32 after each step as TFLite does for its effective scales."""
    return float(np.float32(a) * np.float32(b) / np.float32(c))


def round_half_away(x: float) -> int:
    """Round like C's ``round``: to nearest, ties away from zero. The result is exact for every finite double."""
    integer = math.floor(abs(x))
    return int(math.copysign(integer + (abs(x) - integer >= 0.5), x))


def activation_range(activation: int, output: Tensor) -> tuple[int, int]:
    """Return the clamp limits (lowest, highest) of a fused activation, in the output's quantized units."""
    low, high = INTEGER_RANGE[output.dtype]
    if activation == NONE:
        return low, high
    scale, zero = np.float32(output.scale), output.zero_point

    def quantize(value: float) -> int:
        return zero + round_half_away(float(np.float32(value) / scale))

    limits = {RELU: (0.0, None), RELU6: (0.0, 6.0), RELU_N1_TO_1: (-1.0, 1.0)}[activation]
    low = max(low, quantize(limits[0]))
    if limits[1] is not None:
        high = min(high, quantize(limits[1]))
    return low, high


#: The schema's Padding.
SAME, VALID = 0, 1


def conv_padding(padding: int, size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Return ``(output size, padding before the first element)`` of one spatial dimension, as TFLite computes them.

    ``size`` is the input's size, ``kernel`` the filter's size, both without padding and dilation.
    """
    effective = (kernel - 1) * dilation + 1
    out = -(-size // stride) if padding == SAME else (size + stride - effective) // stride
    return out, max((out - 1) * stride + effective - size, 0) // 2


def round_twice(acc: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return acc * multiplier * 2**(shift - 31) as int64, rounded twice as in gemmlowp and the C function
    ``ar_requant``.

    The arrays are broadcast together; ``multiplier`` is in [0, 2**31). The result is exactly TFLite's if ``acc``,
    shifted left by a positive ``shift``, fits into 32 bits. Source: TFLite's MultiplyByQuantizedMultiplier.
    """
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    high = ((acc << left) * multiplier + (1 << 30)) >> 31
    mask = (np.int64(1) << right) - 1
    return cast(np.ndarray, (high >> right) + ((high & mask) > (mask >> 1) + (high < 0)))
