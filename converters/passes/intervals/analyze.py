"""Compute the bounds of every int8 tensor of a graph, from its inputs to its outputs.

This is interval arithmetic over the quantized graph. A channel of a model input can have any value. A sum of products
is smallest if each product is smallest. Scaling, rounding and clamping are monotonic, so they are applied to the two
ends of an interval. The bounds hold for every input, because no samples are used. They are not always tight, because
the inputs of a layer are treated as independent.
"""

from __future__ import annotations

from arenite.converters.graph.model import Subgraph
from arenite.converters.passes.intervals import elementwise, movement, pooling, weighted  # noqa: F401 (rules)
from arenite.converters.passes.intervals.bounds import Bounds, constant_bounds, full_bounds, is_analyzed
from arenite.converters.passes.intervals.rule import RULES, BoundsContext


def analyze_intervals(graph: Subgraph) -> dict[int, Bounds]:
    """Return {tensor index: bounds} for every int8 tensor that is neither a scalar nor empty. If the operator that
    computes a tensor has no rule, the bounds are -128 and 127."""
    bounds_by_tensor: dict[int, Bounds] = {}
    for t in graph.tensors:
        if is_analyzed(t):
            bounds_by_tensor[t.index] = (
                constant_bounds(t) if t.data is not None and not t.is_variable else full_bounds(t)
            )
    for op in graph.ops:
        rule = RULES.get(op.name)
        if rule is None or len(op.outputs) != 1 or not is_analyzed(graph.tensors[op.outputs[0]]):
            continue
        op_bounds = rule(BoundsContext(graph, op, bounds_by_tensor))
        if op_bounds is not None:
            bounds_by_tensor[op.outputs[0]] = op_bounds
    return bounds_by_tensor
