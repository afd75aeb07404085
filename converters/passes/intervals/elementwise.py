"""Rules for the bounds of operators that work element by element."""

from __future__ import annotations

import itertools
import math

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.converters.graph.quantized_arithmetic import (
    NONE,
    RELU,
    RELU6,
    RELU_N1_TO_1,
    activation_range,
    round_half_away,
    round_twice,
)
from arenite.converters.passes.intervals.bounds import HIGH, LOW, Bounds, channels_of, is_quantized
from arenite.converters.passes.intervals.rescale import fits, multipliers
from arenite.converters.passes.intervals.rule import BoundsContext, rule

#: The number of bits by which LiteRT's ADD kernel shifts int8 inputs to the left.
_ADD_SHIFT = 20
#: The limits of the activation operators, as real numbers.
LIMITS = {
    "RELU": (0.0, math.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}


def quantized_limits(name: str, out: Tensor) -> tuple[int, int]:
    """Return the (lowest, highest) output of the activation operator ``name`` in the quantized units of ``out``."""
    low, high = (
        end
        if math.isinf(end)
        else out.zero_point + round_half_away(float(np.float32(end) / np.float32(out.scale)))
        for end in LIMITS[name]
    )
    return max(LOW, int(low)), HIGH if math.isinf(high) else min(HIGH, int(high))


def _rescale(input_bounds: Bounds, inp: Tensor, out: Tensor, real: float) -> Bounds | None:
    """Return ``input_bounds`` of ``inp`` converted to the quantization of ``out``, or None if the kernel's int32 could
    overflow. ``real`` is input scale / output scale."""
    multiplier, shift = multipliers(np.array([real]))
    if not fits(np.array([255]), shift):  # 255: the largest distance of an int8 value from a zero point
        return None
    low, high = (
        round_twice(v - inp.zero_point, multiplier, shift) + out.zero_point
        for v in (input_bounds.low, input_bounds.high)
    )
    return Bounds(low, high).clamp(LOW, HIGH)


@rule(*LIMITS)
def activation(context: BoundsContext) -> Bounds | None:
    input_bounds, inp, out = context.bounds(0), context.input(0), context.out
    if input_bounds is None or not is_quantized(inp, out):
        return None
    rescaled = _rescale(input_bounds, inp, out, float(np.float32(inp.scale) / np.float32(out.scale)))
    return rescaled and rescaled.clamp(*quantized_limits(context.op.name, out))


@rule("QUANTIZE")
def quantize(context: BoundsContext) -> Bounds | None:
    input_bounds, inp, out = context.bounds(0), context.input(0), context.out
    if input_bounds is None or not is_quantized(inp, out):
        return None
    # LiteRT divides as double here, as float32 above.
    return _rescale(input_bounds, inp, out, inp.scale / out.scale)


def _operands(context: BoundsContext) -> tuple[Bounds, Bounds] | None:
    """Return the bounds of both inputs, broadcast to the output's channels, or None if an input has no bounds."""
    a, b = context.bounds(0), context.bounds(1)
    if a is None or b is None:
        return None
    count = channels_of(context.out)
    return a.spread(count), b.spread(count)


@rule("MAXIMUM", "MINIMUM")
def extreme(context: BoundsContext) -> Bounds | None:
    operands = _operands(context)
    if operands is None:
        return None
    a, b = operands
    pick = np.maximum if context.op.name == "MAXIMUM" else np.minimum
    return Bounds(pick(a.low, b.low), pick(a.high, b.high))


@rule("ADD", "SUB")
def add(context: BoundsContext) -> Bounds | None:
    """Return the bounds of ADD or SUB.

    The kernel scales both inputs to a common scale, and the sum to the output's scale. Each scaling rounds twice. The
    result never decreases as the first input grows. As the second input grows, the result never decreases (ADD) or
    never increases (SUB).
    """
    operands, out = _operands(context), context.out
    first, second = context.input(0), context.input(1)
    if operands is None or not is_quantized(first, second, out) or not _has_clamp_or_no_activation(context):
        return None
    # As LiteRT does, both inputs are scaled to twice the larger input scale.
    twice = float(np.float32(2) * np.float32(max(first.scale, second.scale)))
    headroom = float(np.float32(1 << _ADD_SHIFT) * np.float32(out.scale))
    reals = np.array([first.scale / twice, second.scale / twice, twice / headroom])
    if not all(0.0 < r < 1.0 for r in reals):
        return None
    multiplier, shift = multipliers(reals)
    sign = 1 if context.op.name == "ADD" else -1

    def result(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a = round_twice((a - first.zero_point) << _ADD_SHIFT, multiplier[0], shift[0])
        b = round_twice((b - second.zero_point) << _ADD_SHIFT, multiplier[1], shift[1])
        return round_twice(a + sign * b, multiplier[2], shift[2]) + out.zero_point

    a, b = operands
    low, high = (b.low, b.high) if sign > 0 else (b.high, b.low)
    limits = activation_range(context.op.options["fused_activation_function"], out)
    return Bounds(result(a.low, low), result(a.high, high)).clamp(*limits)


@rule("MUL")
def multiply(context: BoundsContext) -> Bounds | None:
    """Return the bounds of MUL. The smallest and the largest product of two intervals are products of their ends."""
    operands, out = _operands(context), context.out
    first, second = context.input(0), context.input(1)
    if operands is None or not is_quantized(first, second, out) or not _has_clamp_or_no_activation(context):
        return None
    real = float(np.float32(first.scale) * np.float32(second.scale) / np.float32(out.scale))
    multiplier, shift = multipliers(np.array([real]))
    if not fits(np.array([255 * 255]), shift):
        return None
    a, b = operands
    corners = [
        (x - first.zero_point) * (y - second.zero_point)
        for x, y in itertools.product((a.low, a.high), (b.low, b.high))
    ]
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    limits = activation_range(context.op.options["fused_activation_function"], out)
    ends = (round_twice(v, multiplier, shift) + out.zero_point for v in (low, high))
    return Bounds(*ends).clamp(*limits)


def _has_clamp_or_no_activation(context: BoundsContext) -> bool:
    """Return whether the operator's fused activation is none or a clamp."""
    return context.op.options["fused_activation_function"] in (NONE, RELU, RELU_N1_TO_1, RELU6)
