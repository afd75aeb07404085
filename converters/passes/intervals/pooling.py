"""Rules for the bounds of operators that combine several positions of one channel into one value."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.quantized_arithmetic import activation_range, quantize_multiplier, round_twice
from arenite.converters.passes.intervals.bounds import HIGH, LOW, Bounds, is_quantized
from arenite.converters.passes.intervals.rescale import fits
from arenite.converters.passes.intervals.rule import BoundsContext, rule


@rule("AVERAGE_POOL_2D", "MAX_POOL_2D")
def pool(context: BoundsContext) -> Bounds | None:
    """Return the bounds of a pool. A maximum or a rounded mean is between the lowest and the highest value of the
    window, which does not include padding."""
    input_bounds = context.bounds(0)
    if input_bounds is None or not is_quantized(context.out):
        return None
    return input_bounds.clamp(*activation_range(context.op.options["fused_activation_function"], context.out))


def reduced_axes(context: BoundsContext) -> tuple[int, ...] | None:
    """Return the axes of a reduction, or None if they are not constant or include the last axis."""
    inp, axes = context.input(0), context.input(1)
    if axes.data is None:
        return None
    rank = len(inp.shape)
    reduced = sorted({int(a) % rank for a in axes.data.reshape(-1)})
    return None if rank - 1 in reduced else tuple(reduced)


@rule("MEAN")
def mean(context: BoundsContext) -> Bounds | None:
    """Return the bounds of a MEAN. LiteRT's kernel multiplies the sum by a multiplier that includes the division by the
    number of positions, and rounds twice."""
    input_bounds, inp, out = context.bounds(0), context.input(0), context.out
    axes = reduced_axes(context)
    if input_bounds is None or axes is None or not is_quantized(inp, out):
        return None
    count = int(np.prod([inp.shape[a] for a in axes], dtype=np.int64))
    multiplier, shift = quantize_multiplier(inp.scale / out.scale)
    # As LiteRT does, shift the multiplier to the left before the division, so that it keeps its precision.
    up = min(count.bit_length() - 1, 32, 31 + shift)
    divided, right = np.array([(multiplier << up) // count]), np.array([shift - up])
    sums = [(v - inp.zero_point) * count for v in (input_bounds.low, input_bounds.high)]
    if divided[0] >= 1 << 31 or not all(fits(s, right) for s in sums):
        return None
    low, high = (round_twice(s, divided, right) + out.zero_point for s in sums)
    return Bounds(low, high).clamp(LOW, HIGH)
