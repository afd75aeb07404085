"""The report of a pass: sentences for the user, and a JSON object for the option ``--json``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.passes.intervals.layer import WEIGHTED


@dataclass(frozen=True)
class LayerChange:
    """The channels and multiply-accumulates that one operator lost. ``index`` is the operator's number before the pass,
    ``op`` its name."""

    index: int
    op: str
    removed: int  # number of removed output channels
    channels: int  # number of output channels before the pass
    macs_before: int
    macs_after: int

    def to_json(self) -> dict[str, Any]:
        return {
            "index": self.index,
            "op": self.op,
            "channels": self.channels,
            "channels_removed": self.removed,
            "macs_before": self.macs_before,
            "macs_after": self.macs_after,
        }


@dataclass(frozen=True)
class PassReport:
    """One pass that changed the model; ``notes`` has a sentence per change."""

    name: str
    notes: tuple[str, ...]
    layers: tuple[LayerChange, ...] = ()  # operators that lost channels or multiply-accumulates

    def to_json(self) -> dict[str, Any]:
        return {"pass": self.name, "notes": list(self.notes), "layers": [c.to_json() for c in self.layers]}


def layer_macs(graph: Subgraph, op: Op) -> int:
    """Return the number of multiply-accumulates of a layer with weights, or 0 for another operator."""
    if op.name not in WEIGHTED:
        return 0
    out, weights = graph.tensors[op.outputs[0]], graph.tensors[op.inputs[1]]
    units = weights.shape[3 if op.name == "DEPTHWISE_CONV_2D" else 0]
    return out.elements * weights.elements // max(units, 1)
