"""The ranges of activations that quantization-aware training chose, stored in the metadata of the float model.

Models from quantization-aware training state each range in the graph: by a FAKE_QUANT, or by a QUANTIZE and the
DEQUANTIZE that follows it. ``simplify`` removes these operators and stores their ranges in the metadata entry ``NAME``,
a JSON object from tensor names to ``[low, high]``. Quantization uses a trained range instead of a calibrated one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.input_files import parse_json

#: The name of the metadata entry.
NAME = "arenite.trained_ranges"

Ranges = dict[str, tuple[float, float]]


def trained_ranges(model: Model) -> Ranges:
    """Return (low, high) by tensor name, with low <= 0 <= high. The result is empty if the model has no valid entry."""
    try:
        record = parse_json(model.metadata.get(NAME, b"{}"))
        ranges = {str(name): (float(low), float(high)) for name, (low, high) in record.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
    return {
        n: (min(a, 0.0), max(b, 0.0)) for n, (a, b) in ranges.items() if np.isfinite(a) and np.isfinite(b)
    }


def with_trained_ranges(model: Model, ranges: Mapping[str, tuple[float, float]]) -> Model:
    """Return the model with ``ranges`` added to its trained ranges."""
    if not ranges:
        return model
    all_ranges = {**trained_ranges(model), **ranges}
    entry = json.dumps({n: list(r) for n, r in sorted(all_ranges.items())}, separators=(",", ":"))
    return replace(model, metadata={**model.metadata, NAME: entry.encode()})


def stated_range(graph: Subgraph, op: Op, readers: Mapping[int, int]) -> tuple[float, float, Op] | None:
    """Return (low, high, last operator) if ``op`` states a range: the FAKE_QUANT itself, or a QUANTIZE and the
    DEQUANTIZE that follows it, which is the last operator. Return None for other operators. ``readers`` has the number
    of readers of each tensor."""
    if op.name == "FAKE_QUANT":
        return float(op.options["min"]), float(op.options["max"]), op
    if op.name != "QUANTIZE" or graph.tensors[op.inputs[0]].dtype != "float32":
        return None
    t = graph.tensors[op.outputs[0]]
    followers = [o for o in graph.ops if t.index in o.inputs]
    if (
        t.quant is None
        or t.quant.per_axis
        or readers[t.index] != 1
        or [o.name for o in followers] != ["DEQUANTIZE"]
    ):
        return None
    span = np.iinfo(t.dtype)
    low, high = ((edge - t.zero_point) * t.scale for edge in (span.min, span.max))
    return low, high, followers[0]
