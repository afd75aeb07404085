"""What the MLPerf Tiny monitor keeps of a model's input."""

from __future__ import annotations

from arenite.converters.graph.model import Subgraph
from arenite.firmware.generator.features import ENERGY

#: The protocols of the monitor.
MONITORS = ("mlperf", ENERGY)


def reals_of(graph: Subgraph) -> int:
    """How many real numbers the monitor takes in place of the input's bytes, and scores the output against: those of
    the input of a model that gives back what it takes (one int8 input, one int8 output of its size), else 0."""
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        return 0
    taken, given = graph.tensors[graph.inputs[0]], graph.tensors[graph.outputs[0]]
    alike = taken.dtype == given.dtype == "int8" and taken.elements == given.elements
    quantised = all(t.quant is not None and not t.quant.per_axis for t in (taken, given))
    return taken.elements if alike and quantised else 0


def monitor_bytes(graph: Subgraph) -> int:
    """Room for the input as it arrives: all inputs one after the other, or real numbers of four bytes."""
    return max(sum(graph.tensors[i].nbytes for i in graph.inputs), 4 * reals_of(graph))
