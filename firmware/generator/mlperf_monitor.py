"""Sizes of the input that the MLPerf Tiny monitor keeps."""

from __future__ import annotations

from arenite.converters.graph.model import Subgraph
from arenite.firmware.generator.features import ENERGY

#: The protocols of the monitor.
MONITORS = ("mlperf", ENERGY)


def reals_of(graph: Subgraph) -> int:
    """Return the number of real numbers that the monitor takes instead of the input's bytes and scores the output
    against.

    It is the size of the input for a model with one int8 input and one int8 output of the same size, else 0."""
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        return 0
    taken, given = graph.tensors[graph.inputs[0]], graph.tensors[graph.outputs[0]]
    alike = taken.dtype == given.dtype == "int8" and taken.elements == given.elements
    quantized = all(t.quant is not None and not t.quant.per_axis for t in (taken, given))
    return taken.elements if alike and quantized else 0


def monitor_bytes(graph: Subgraph) -> int:
    """Room for the input as it arrives: all inputs one after the other, or real numbers of four bytes."""
    return max(sum(graph.tensors[i].nbytes for i in graph.inputs), 4 * reals_of(graph))
