"""Make the outline of a float TensorFlow Lite model from its graph."""

from __future__ import annotations

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.importers.outline.outline import Outline, OutlineLayer, OutlineTensor

_FLOATS = ("float32", "float16")
#: The options with the vertical and the horizontal step, in pixels.
_STEPS = {
    "strides": ("stride_h", "stride_w"),
    "dilations": ("dilation_h_factor", "dilation_w_factor"),
}


def outline_of(model: Model) -> Outline:
    """Return the outline of ``model``, which has fixed shapes. A layer has the name of its first output."""
    graph = model.main
    inputs, outputs = (
        tuple(OutlineTensor(graph.tensors[i].name, graph.tensors[i].shape) for i in side)
        for side in (graph.inputs, graph.outputs)
    )
    constants = {i for op in graph.ops for i in op.inputs if i >= 0 and graph.tensors[i].is_constant}
    weights = sum(
        graph.tensors[i].elements
        for i in constants
        if graph.tensors[i].dtype in _FLOATS or graph.tensors[i].quant is not None
    )
    layers = tuple(_layer(g, op) for g in model.subgraphs for op in g.ops)
    return Outline(layers, inputs, outputs, weights, (False,) * len(inputs))


def _layer(graph: Subgraph, op: Op) -> OutlineLayer:
    name = graph.tensors[op.outputs[0]].name if op.outputs else str(op.index)
    steps = {
        word: tuple(int(op.options[key]) for key in keys)
        for word, keys in _STEPS.items()
        if all(key in op.options for key in keys)
    }
    return OutlineLayer(name, op.name, steps)
