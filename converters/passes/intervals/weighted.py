"""The rule for the bounds of convolutions and fully connected layers."""

from __future__ import annotations

from arenite.converters.graph.quantized_arithmetic import round_twice
from arenite.converters.passes.intervals.bounds import Bounds
from arenite.converters.passes.intervals.layer import WEIGHTED, layer_of
from arenite.converters.passes.intervals.rescale import fits, multipliers, round_once
from arenite.converters.passes.intervals.rule import BoundsContext, rule


@rule(*WEIGHTED)
def weighted(context: BoundsContext) -> Bounds | None:
    """Return the bounds of a layer with weights: its lowest and highest accumulator, scaled to the output.

    LiteRT rounds a fully connected layer's accumulator once, TensorFlow Lite Micro twice. The bounds contain the
    results of both.
    """
    layer, input_bounds = layer_of(context.graph, context.op), context.bounds(0)
    if layer is None or input_bounds is None:
        return None
    multiplier, shift = multipliers(layer.scale)
    if not fits(layer.largest, shift):
        return None
    lowest, highest = layer.accumulator(input_bounds)
    out_bounds = Bounds(*(round_twice(end, multiplier, shift) for end in (lowest, highest)))
    if context.op.name == "FULLY_CONNECTED":
        out_bounds = out_bounds.join(Bounds(*(round_once(end, layer.scale) for end in (lowest, highest))))
    zero = layer.out.zero_point
    return Bounds(out_bounds.low + zero, out_bounds.high + zero).clamp(*layer.limits)
