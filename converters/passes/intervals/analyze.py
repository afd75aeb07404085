"""Bounds of every int8 tensor of a graph, from its inputs to its outputs.

Interval arithmetic over the quantized graph: an input channel can be anything; a sum of products is smallest when each
product is; and scaling, rounding and clamping never decrease, so they are applied to the two ends. Nothing is sampled:
the bounds hold for every input. They need not be tight, because inputs of a layer are taken as independent.
"""

from __future__ import annotations

from arenite.converters.graph.model import Subgraph
from arenite.converters.passes.intervals import elementwise, movement, pooling, weighted  # noqa: F401 (rules)
from arenite.converters.passes.intervals.bounds import Bounds, is_analyzed, of_constant, unknown
from arenite.converters.passes.intervals.rule import RULES, BoundsContext


def analyze_intervals(graph: Subgraph) -> dict[int, Bounds]:
    """Bounds by tensor index of every int8 tensor that has a last axis; without a rule a tensor can hold any int8."""
    known: dict[int, Bounds] = {}
    for t in graph.tensors:
        if is_analyzed(t):
            known[t.index] = of_constant(t) if t.data is not None and not t.is_variable else unknown(t)
    for op in graph.ops:
        rule = RULES.get(op.name)
        if rule is None or len(op.outputs) != 1 or not is_analyzed(graph.tensors[op.outputs[0]]):
            continue
        op_bounds = rule(BoundsContext(graph, op, known))
        if op_bounds is not None:
            known[op.outputs[0]] = op_bounds
    return known
