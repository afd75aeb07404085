"""Rules for the bounds of operators that copy bytes unchanged."""

from __future__ import annotations

import math

import numpy as np

from arenite.converters.passes.intervals.bounds import Bounds, channels_of, is_quantized
from arenite.converters.passes.intervals.rule import BoundsContext, rule

#: A RESHAPE with more pairs (input channel, output channel) than this is not analyzed.
MAX_RESHAPE_PAIRS = 1 << 16


def reshaped_channel_pairs(elements: int, before: int, after: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the pairs (input channel, output channel) between which a RESHAPE moves elements, as two arrays. Return
    None if there are more than ``MAX_RESHAPE_PAIRS``.

    The tensors have ``elements`` elements; the input has ``before`` channels and the output ``after``. No pair is
    missing, but a pair can occur more than once.
    """
    count = min(elements, math.lcm(before, after))
    if count > MAX_RESHAPE_PAIRS:
        return None
    # Element e is in channel e % before of the input and in channel e % after of the output.
    element = np.arange(count)
    return element % before, element % after


@rule("RESHAPE")
def reshape(context: BoundsContext) -> Bounds | None:
    input_bounds, inp, out = context.bounds(0), context.input(0), context.out
    if input_bounds is None:
        return None
    pairs = reshaped_channel_pairs(out.elements, channels_of(inp), channels_of(out))
    if pairs is None:
        return None
    low = np.full(channels_of(out), np.iinfo(np.int64).max)
    high = np.full(channels_of(out), np.iinfo(np.int64).min)
    np.minimum.at(low, pairs[1], input_bounds.low[pairs[0]])
    np.maximum.at(high, pairs[1], input_bounds.high[pairs[0]])
    return Bounds(low, high)


def keeps_last_axis(context: BoundsContext) -> bool:
    """Return whether the padding amounts (input 1) are constant and leave the last axis unchanged."""
    pads = context.input(1)
    return pads.data is not None and not pads.data.reshape(-1, 2)[-1].any()


@rule("PAD")
def pad(context: BoundsContext) -> Bounds | None:
    """Return the bounds of PAD. They include the zero point of the output, which PAD writes to the border."""
    input_bounds = context.bounds(0)
    if input_bounds is None or not keeps_last_axis(context) or not is_quantized(context.out):
        return None
    zero = np.full(channels_of(context.out), context.out.zero_point, np.int64)
    return input_bounds.join(Bounds(zero, zero))


@rule("RESIZE_NEAREST_NEIGHBOR")
def resize_nearest(context: BoundsContext) -> Bounds | None:
    return context.bounds(0)


@rule("CONCATENATION")
def concatenate(context: BoundsContext) -> Bounds | None:
    parts = [context.bounds(k) for k in range(len(context.op.inputs))]
    quants = {t.quant and (t.quant.scale, t.quant.zero_point) for t in context.graph.in_tensors(context.op)}
    if (
        any(p is None for p in parts)
        or len(quants | {context.out.quant and (context.out.quant.scale, context.out.quant.zero_point)}) != 1
    ):
        return None
    input_bounds = [p for p in parts if p is not None]
    if context.op.options["axis"] % len(context.out.shape) == len(context.out.shape) - 1:
        return Bounds(
            np.concatenate([p.low for p in input_bounds]), np.concatenate([p.high for p in input_bounds])
        )
    joined = input_bounds[0]
    for p in input_bounds[1:]:
        joined = joined.join(p)
    return joined
