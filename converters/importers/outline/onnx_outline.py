"""Read the outline of an ONNX model: its inputs, outputs and layers. The field numbers are those of onnx.proto3."""

from __future__ import annotations

from pathlib import Path

from arenite.converters.importers.outline.outline import (
    Outline,
    OutlineLayer,
    OutlineTensor,
    Shape,
    value_count,
)
from arenite.converters.importers.outline.protobuf import messages, numbers, text, texts
from arenite.errors import ModelError

# The numbers of the fields of ModelProto, GraphProto, NodeProto, AttributeProto, TensorProto, ValueInfoProto (down to
# the value of a dimension), FunctionProto and StringStringEntryProto.
_GRAPH, _FUNCTIONS = 7, 25
_NODES, _INITIALIZERS, _INPUTS, _OUTPUTS, _INNER_TENSORS = 1, 5, 11, 12, 13
_NODE_INPUTS, _NODE_OUTPUTS, _NODE_NAME, _NODE_TYPE, _NODE_ATTRIBUTES, _NODE_DOMAIN = 1, 2, 3, 4, 5, 7
_ATTRIBUTE_NAME, _ATTRIBUTE_INT, _ATTRIBUTE_GRAPH, _ATTRIBUTE_INTS = 1, 3, 6, 8
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_EXTERNAL, _TENSOR_LOCATION = 1, 2, 8, 13, 14
_VALUE_NAME, _VALUE_TYPE, _TENSOR_OF_TYPE, _SHAPE_OF_TENSOR, _DIM, _DIM_VALUE = 1, 2, 1, 2, 1, 1
_FUNCTION_NAME = 1
_ENTRY_KEY, _ENTRY_VALUE = 1, 2

#: The domain of operators of classical models, such as trees.
_CLASSICAL_MODELS = "ai.onnx.ml"

_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})

#: Attributes of an operator with steps in pixels.
_STEPS = ("strides", "dilations")

#: Operators whose input with 4 dimensions is NCHW by definition.
_CHANNELS_FIRST = frozenset({"Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool"})

#: Operators that run other graphs. onnx2tf converts them if their inputs are constants, because it then knows which
#: graph runs.
_CONTROL_FLOW = frozenset({"If", "Loop", "Scan"})

#: Operators whose outputs depend on the shapes of their inputs only, which are fixed.
_SHAPE_OPERATORS = frozenset({"Shape", "Size"})

#: ``data_location`` of a tensor that is in another file, and ``data_type`` of float32.
_EXTERNAL = 1
_FLOAT32 = 1


def read_onnx(source: str, data: memoryview) -> Outline:
    """Return the outline of the ONNX model ``data``. ``source`` is its path.

    ``layers`` leaves out control flow that depends on constants only, the operators of the graphs that control flow
    chooses from, and the operators of classical models.
    Raises ``ModelError`` if a separate file with weights is missing, and ``ValueError`` if the model is damaged.
    """
    graph = next(messages(data, _GRAPH), None)
    if graph is None:
        raise ValueError("it contains no graph")
    constants: dict[str, memoryview] = {}
    for tensor in messages(graph, _INITIALIZERS):
        constants[text(tensor, _TENSOR_NAME)] = tensor
        _check_external(source, tensor)
    inputs = [_tensor(value) for value in messages(graph, _INPUTS)]
    inputs = [value for value in inputs if value.name not in constants]
    # operators that the file itself defines as functions
    own_operators = {text(function, _FUNCTION_NAME) for function in messages(data, _FUNCTIONS)}
    varying = {value.name for value in inputs}  # tensors that depend on the values of an input
    pictures: set[str] = set()  # tensors that certainly have the layout NCHW
    shapes = {value.name: value.shape for value in (*inputs, *map(_tensor, messages(graph, _INNER_TENSORS)))}
    layers = []
    outputs = tuple(_tensor(value) for value in messages(graph, _OUTPUTS))
    for node in _nodes_behind(list(messages(graph, _NODES)), {value.name for value in outputs}):
        kind = text(node, _NODE_TYPE)
        node_inputs, node_outputs = texts(node, _NODE_INPUTS), texts(node, _NODE_OUTPUTS)
        if varying.intersection(node_inputs) and kind not in _SHAPE_OPERATORS:
            varying.update(node_outputs)
        elif kind in _CONTROL_FLOW:
            continue
        if kind in _CHANNELS_FIRST:
            pictures.update(node_inputs[:1])
        if kind not in own_operators and text(node, _NODE_DOMAIN) != _CLASSICAL_MODELS:
            layers.append(_layer(node, kind, node_inputs, node_outputs, constants, shapes))
    return Outline(
        tuple(layers),
        tuple(inputs),
        outputs,
        sum(
            value_count(numbers(tensor, _TENSOR_DIMS))
            for tensor in constants.values()
            if numbers(tensor, _TENSOR_TYPE) == [_FLOAT32]
        ),
        tuple(
            value.shape is not None and len(value.shape) == 4 and (True if value.name in pictures else None)
            for value in inputs
        ),
    )


def _nodes_behind(nodes: list[memoryview], tensors: set[str]) -> list[memoryview]:
    """Return the nodes from which ``tensors`` are computed. ``nodes`` are in the order of execution.

    A node with graphs of its own may read tensors that are not among its inputs, so all nodes before it are kept.
    """
    needed, kept, keep_all = set(tensors), [], False
    for node in reversed(nodes):
        if keep_all or needed.intersection(texts(node, _NODE_OUTPUTS)):
            needed.update(texts(node, _NODE_INPUTS))
            kept.append(node)
            keep_all = keep_all or any(
                True
                for attribute in messages(node, _NODE_ATTRIBUTES)
                for _ in messages(attribute, _ATTRIBUTE_GRAPH)
            )
    return kept[::-1]


def _tensor(value: memoryview) -> OutlineTensor:
    """Return the name and shape in a ``ValueInfoProto``."""
    shape: Shape | None = None
    for value_type in messages(value, _VALUE_TYPE):
        for tensor_type in messages(value_type, _TENSOR_OF_TYPE):
            for shape_message in messages(tensor_type, _SHAPE_OF_TENSOR):
                shape = tuple(_dimension(part) for part in messages(shape_message, _DIM))
    return OutlineTensor(text(value, _VALUE_NAME), shape)


def _dimension(part: memoryview) -> int | None:
    sizes = numbers(part, _DIM_VALUE)
    return sizes[-1] if sizes and sizes[-1] > 0 else None


def _layer(
    node: memoryview,
    kind: str,
    inputs: list[str],
    outputs: list[str],
    constants: dict[str, memoryview],
    shapes: dict[str, Shape | None],
) -> OutlineLayer:
    attributes = {
        text(attribute, _ATTRIBUTE_NAME): attribute for attribute in messages(node, _NODE_ATTRIBUTES)
    }
    steps = {name: tuple(numbers(attributes[name], _ATTRIBUTE_INTS)) for name in _STEPS if name in attributes}
    window = numbers(attributes["kernel_shape"], _ATTRIBUTE_INTS) if "kernel_shape" in attributes else []
    weights = constants.get(inputs[1]) if kind in ("Conv", "ConvTranspose") and len(inputs) > 1 else None
    volume = len(window) == 3 or (weights is not None and len(numbers(weights, _TENSOR_DIMS)) == 5)
    sequence = shapes.get(inputs[0]) if kind in _RECURRENT and inputs else None
    batch_first = "layout" in attributes and numbers(attributes["layout"], _ATTRIBUTE_INT) == [1]
    time_steps = sequence[1 if batch_first else 0] if sequence and len(sequence) == 3 else None
    name = text(node, _NODE_NAME) or (outputs or [""])[0]
    return OutlineLayer(name, kind, steps, volume=volume, time_steps=time_steps or 0)


def _check_external(source: str, tensor: memoryview) -> None:
    """Raise ``ModelError`` if the tensor is in another file that does not exist."""
    if numbers(tensor, _TENSOR_LOCATION) != [_EXTERNAL]:
        return
    entries = {
        text(entry, _ENTRY_KEY): text(entry, _ENTRY_VALUE) for entry in messages(tensor, _TENSOR_EXTERNAL)
    }
    location = entries.get("location", "")
    if "\0" in location or not (Path(source).parent / location).exists():
        raise ModelError(
            f"{source}: tensor '{text(tensor, _TENSOR_NAME)}' is in the file '{location}', which is missing.",
            f"Copy this file into the folder {Path(source).parent}, or export the model again as one file.",
        )
