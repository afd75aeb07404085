"""Compute the sizes of the input buffer of the MLPerf Tiny monitor, the part of the firmware that talks to MLPerf's
runner."""

from __future__ import annotations

from arenite.converters.graph.model import Subgraph
from arenite.firmware.generator.features import ENERGY

#: The protocols of the monitor.
MONITORS = ("mlperf", ENERGY)


def float_input_count(graph: Subgraph) -> int:
    """Return the number of floats that the monitor receives instead of the input's bytes, and with which it
    scores the output.

    It is the size of the input for a model with one int8 input and one int8 output of the same size, otherwise 0.
    """
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        return 0
    model_input, model_output = graph.tensors[graph.inputs[0]], graph.tensors[graph.outputs[0]]
    is_alike = (
        model_input.dtype == model_output.dtype == "int8" and model_input.elements == model_output.elements
    )
    is_quantized = all(t.quant is not None and not t.quant.per_axis for t in (model_input, model_output))
    return model_input.elements if is_alike and is_quantized else 0


def monitor_bytes(graph: Subgraph) -> int:
    """Return the bytes for the received input: all inputs one after the other, or real numbers of four bytes."""
    return max(sum(graph.tensors[i].nbytes for i in graph.inputs), 4 * float_input_count(graph))
