"""Ranges of activations that training chose (quantization-aware training), kept beside the float model.

Such models state each range in the graph: by a FAKE_QUANT, or by a QUANTIZE and DEQUANTIZE in a row. ``simplify``
removes these from the graph and keeps their ranges in the metadata entry ``NAME``: a JSON object from tensor names to
``[low, high]``. Quantization uses such a range instead of a calibrated one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph

#: The metadata entry.
NAME = "arenite.trained_ranges"

Ranges = dict[str, tuple[float, float]]


def trained_ranges(model: Model) -> Ranges:
    """(low, high) by tensor name, low <= 0 <= high; empty for models without the entry or with another's."""
    try:
        record = json.loads(model.metadata.get(NAME, b"{}"))
        ranges = {str(name): (float(low), float(high)) for name, (low, high) in record.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
    return {
        n: (min(a, 0.0), max(b, 0.0)) for n, (a, b) in ranges.items() if np.isfinite(a) and np.isfinite(b)
    }


def with_trained_ranges(model: Model, ranges: Mapping[str, tuple[float, float]]) -> Model:
    """Return the model with these ranges in addition to its own."""
    if not ranges:
        return model
    every = {**trained_ranges(model), **ranges}
    entry = json.dumps({n: list(r) for n, r in sorted(every.items())}, separators=(",", ":"))
    return replace(model, metadata={**model.metadata, NAME: entry.encode()})


def stated_range(graph: Subgraph, op: Op, readers: Mapping[int, int]) -> tuple[float, float, Op] | None:
    """Return the range that a FAKE_QUANT, or a QUANTIZE and the DEQUANTIZE behind it, states, and the last of
    them."""
    if op.name == "FAKE_QUANT":
        return float(op.options["min"]), float(op.options["max"]), op
    if op.name != "QUANTIZE" or graph.tensors[op.inputs[0]].dtype != "float32":
        return None
    t = graph.tensors[op.outputs[0]]
    behind = [o for o in graph.ops if t.index in o.inputs]
    if (
        t.quant is None
        or t.quant.per_axis
        or readers[t.index] != 1
        or [o.name for o in behind] != ["DEQUANTIZE"]
    ):
        return None
    span = np.iinfo(t.dtype)
    low, high = ((edge - t.zero_point) * t.scale for edge in (span.min, span.max))
    return low, high, behind[0]
