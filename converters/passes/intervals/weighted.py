"""Bounds of convolutions and fully connected layers."""

from __future__ import annotations

from arenite.converters.passes.intervals.bounds import Bounds
from arenite.converters.passes.intervals.layer import WEIGHTED, layer_of
from arenite.converters.passes.intervals.rescale import fits, multipliers, round_once
from arenite.converters.passes.intervals.rule import Site, rule
from arenite.converters.quant import round_twice


@rule(*WEIGHTED)
def weighted(site: Site) -> Bounds | None:
    """The accumulator's two ends, scaled.

    LiteRT rounds a fully connected layer's accumulator once, TensorFlow Lite Micro twice: the bounds contain both.
    """
    layer, known = layer_of(site.graph, site.op), site.bounds(0)
    if layer is None or known is None:
        return None
    multiplier, shift = multipliers(layer.scale)
    if not fits(layer.largest, shift):
        return None
    least, most = layer.accumulator(known)
    found = Bounds(*(round_twice(end, multiplier, shift) for end in (least, most)))
    if site.op.name == "FULLY_CONNECTED":
        found = found.join(Bounds(*(round_once(end, layer.scale) for end in (least, most))))
    zero = layer.out.zero_point
    return Bounds(found.low + zero, found.high + zero).clamp(*layer.limits)
