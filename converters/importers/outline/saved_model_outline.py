"""Read the outline of a SavedModel: its inputs, outputs and layers. The field numbers are those of saved_model.proto,
meta_graph.proto, graph.proto and function.proto of TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Iterator

from arenite.converters.importers.outline.outline import (
    Outline,
    OutlineLayer,
    OutlineTensor,
    Shape,
    value_count,
)
from arenite.converters.importers.outline.protobuf import messages, numbers, text, texts
from arenite.converters.importers.outline.stated_sizes import check_values
from arenite.converters.importers.subprocesses.signature_choice import SignatureProblem, choose_signature
from arenite.errors import ModelError, UsageError

# The numbers of the fields of SavedModel and MetaGraphDef, SignatureDef, TensorInfo with its shape, GraphDef with its
# library, FunctionDef, NodeDef, AttrValue and its list. An entry of a map has a key and a value.
_META_GRAPHS, _GRAPH, _SIGNATURES = 2, 2, 5
_SIGNATURE_INPUTS, _SIGNATURE_OUTPUTS = 1, 2
_INFO_NAME, _INFO_SHAPE, _SHAPE_DIM, _SHAPE_UNKNOWN_RANK, _DIM_SIZE = 1, 3, 2, 3, 1
_GRAPH_NODES, _GRAPH_LIBRARY, _LIBRARY_FUNCTIONS = 1, 2, 1
_FUNCTION_SIGNATURE, _FUNCTION_NODES, _FUNCTION_RESULTS, _SIGNATURE_NAME = 1, 3, 4, 1
_NODE_NAME, _NODE_OP, _NODE_INPUTS, _NODE_ATTRIBUTES = 1, 2, 3, 5
_VALUE_LIST, _VALUE_TYPE, _VALUE_SHAPE, _VALUE_TENSOR, _VALUE_FUNCTION, _FUNCTION_NAME = 1, 6, 7, 8, 10, 1
_LIST_INTS, _LIST_SHAPES, _LIST_FUNCTIONS = 3, 7, 9
_TENSOR_SHAPE = 2
_KEY, _VALUE = 1, 2
#: The name of the signature with which TensorFlow initializes a model.
_INITIALIZATION = "__saved_model_init_op"
_FLOAT32 = 1

#: Operators that change the value of a variable. They run also if no output is computed from them.
_ASSIGNMENT = re.compile(r"Assign(Add|Sub)?VariableOp|ResourceScatter\w+")

#: Operators of TensorFlow that choose a function by the value of their first input.
_BRANCHES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})


def read_saved_model(source: str, data: memoryview, signature: str) -> Outline:
    """Return the outline of the SavedModel whose file saved_model.pb contains ``data``.

    ``source`` is its folder, and ``signature`` the name of the signature that the user chose, or "". The layers are the
    operators of the signature's function, and of all functions that it calls. Raises ``UsageError`` or ``ModelError``
    if there is no signature or the user must choose one, and ``ValueError`` if the file is damaged.
    """
    meta_graph = next(messages(data, _META_GRAPHS), None)
    if meta_graph is None:
        raise ValueError("it contains no graph")
    _check_sizes(source, meta_graph)
    signatures = {text(entry, _KEY): entry for entry in messages(meta_graph, _SIGNATURES)}
    signatures.pop(_INITIALIZATION, None)
    name = _signature(source, signature, sorted(signatures))
    chosen = next(messages(signatures[name], _VALUE), None)
    if chosen is None:
        raise ValueError(f"its signature '{name}' is empty")
    inputs, outputs = (
        [_tensor(entry) for entry in messages(chosen, number)]
        for number in (_SIGNATURE_INPUTS, _SIGNATURE_OUTPUTS)
    )
    outputs_of_nodes = {
        text(info, _INFO_NAME)
        for entry in messages(chosen, _SIGNATURE_OUTPUTS)
        for info in messages(entry, _VALUE)
    }
    nodes = [node for graph in messages(meta_graph, _GRAPH) for node in _nodes(graph, outputs_of_nodes)]
    return Outline(
        tuple(OutlineLayer(text(node, _NODE_NAME), text(node, _NODE_OP), _steps(node)) for node in nodes),
        tuple(sorted(inputs, key=lambda tensor: tensor.name)),  # the order in which they are converted
        tuple(sorted(outputs, key=lambda tensor: tensor.name)),
        sum(_variable_size(node) for node in nodes if text(node, _NODE_OP) == "VarHandleOp")
        or None,  # None: constants
        (False,) * len(inputs),
    )


def _signature(source: str, signature: str, names: list[str]) -> str:
    """Return the name of the signature to convert, one of ``names``. Raises ``UsageError`` or ``ModelError``."""
    try:
        name: str = choose_signature(source, signature, names)
        return name
    except SignatureProblem as wrong:
        error = ModelError if wrong.kind == "model" else UsageError
        raise error(wrong.problem, wrong.hint) from wrong


def _tensor(entry: memoryview) -> OutlineTensor:
    """Return the name and shape in one entry of a signature's inputs or outputs."""
    shape: Shape | None = None
    for info in messages(entry, _VALUE):
        for proto in messages(info, _INFO_SHAPE):
            if numbers(proto, _SHAPE_UNKNOWN_RANK) != [1]:  # the number of dimensions is known
                shape = tuple(_dimension(part) for part in messages(proto, _SHAPE_DIM))
    return OutlineTensor(text(entry, _KEY), shape)


def _dimension(part: memoryview) -> int | None:
    size = (numbers(part, _DIM_SIZE) or [0])[-1]
    return size if size >= 0 else None


def _nodes(graph: memoryview, outputs: set[str]) -> list[memoryview]:
    """Return the operators from which the tensors ``outputs`` are computed, with the operators of called functions."""
    functions = {}
    for library in messages(graph, _GRAPH_LIBRARY):
        for function in messages(library, _LIBRARY_FUNCTIONS):
            signature = next(messages(function, _FUNCTION_SIGNATURE), memoryview(b""))
            functions[text(signature, _SIGNATURE_NAME)] = function
    by_name = {text(node, _NODE_NAME): node for node in messages(graph, _GRAPH_NODES)}
    pending = [by_name[name] for name in _nodes_behind(by_name, outputs)]
    nodes, called = [], set()
    constants = {name for name, node in by_name.items() if text(node, _NODE_OP) == "Const"}
    while pending:
        node = pending.pop()
        condition = (texts(node, _NODE_INPUTS) or [""])[0].partition(":")[0]
        # A constant condition leaves one branch.
        if text(node, _NODE_OP) not in _BRANCHES or condition not in constants:
            nodes.append(node)
        for name in _called_functions(node):
            if name not in called and name in functions:
                called.add(name)
                body = {text(n, _NODE_NAME): n for n in messages(functions[name], _FUNCTION_NODES)}
                constants.update(n for n in body if text(body[n], _NODE_OP) == "Const")
                results = {text(entry, _VALUE) for entry in messages(functions[name], _FUNCTION_RESULTS)}
                listed = dict.fromkeys(_nodes_behind(body, results))
                if text(node, _NODE_OP) not in _BRANCHES:  # a branch may be the one for training
                    listed |= {n: None for n in body if _ASSIGNMENT.fullmatch(text(body[n], _NODE_OP))}
                pending += [body[n] for n in listed]
    return nodes


def _nodes_behind(nodes: dict[str, memoryview], tensors: set[str]) -> list[str]:
    """Return the names of the nodes from which ``tensors`` are computed. Nodes that must only run earlier (inputs that
    begin with "^") do not count."""
    pending = [name.partition(":")[0] for name in tensors]
    found: dict[str, None] = {}
    while pending:
        name = pending.pop()
        if name in found or name not in nodes:
            continue
        found[name] = None
        pending += [i.partition(":")[0] for i in texts(nodes[name], _NODE_INPUTS)]
    return list(found)


def _called_functions(node: memoryview) -> list[str]:
    """Return the names of the functions in the attributes of ``node``."""
    names = []
    for attribute in messages(node, _NODE_ATTRIBUTES):
        for value in messages(attribute, _VALUE):
            for function in messages(value, _VALUE_FUNCTION):
                names.append(text(function, _FUNCTION_NAME))
            for values in messages(value, _VALUE_LIST):
                names += [text(function, _FUNCTION_NAME) for function in messages(values, _LIST_FUNCTIONS)]
    return names


def _check_sizes(source: str, meta_graph: memoryview) -> None:
    """Raise ``ModelError`` if a constant, or the result of an operator, has too many values. A constant of equal values
    takes a few bytes in the file, whatever its shape."""
    for graph in messages(meta_graph, _GRAPH):
        nodes = list(messages(graph, _GRAPH_NODES))
        for library in messages(graph, _GRAPH_LIBRARY):
            for function in messages(library, _LIBRARY_FUNCTIONS):
                nodes += messages(function, _FUNCTION_NODES)
        for node in nodes:
            for attribute in messages(node, _NODE_ATTRIBUTES):
                for value in messages(attribute, _VALUE):
                    for shape in _shapes(value):
                        sizes = (_dimension(part) or 0 for part in messages(shape, _SHAPE_DIM))
                        check_values(source, f"'{text(node, _NODE_NAME)}'", sizes)


def _shapes(value: memoryview) -> Iterator[memoryview]:
    """Yield the shapes in the value of an attribute: of constants, of variables and of results."""
    yield from messages(value, _VALUE_SHAPE)
    for tensor in messages(value, _VALUE_TENSOR):
        yield from messages(tensor, _TENSOR_SHAPE)
    for values in messages(value, _VALUE_LIST):
        yield from messages(values, _LIST_SHAPES)


def _steps(node: memoryview) -> dict[str, tuple[int, ...]]:
    steps = {}
    for attribute in messages(node, _NODE_ATTRIBUTES):
        name = text(attribute, _KEY)
        if name not in ("strides", "dilations"):
            continue
        for value in messages(attribute, _VALUE):
            for values in messages(value, _VALUE_LIST):
                steps[name] = tuple(numbers(values, _LIST_INTS))
    return steps


def _variable_size(node: memoryview) -> int:
    """Return the number of values of a float32 variable, or 0 for a variable of another type or of unknown shape."""
    empty = memoryview(b"")
    attributes = {
        text(entry, _KEY): next(messages(entry, _VALUE), empty) for entry in messages(node, _NODE_ATTRIBUTES)
    }
    if numbers(attributes.get("dtype", empty), _VALUE_TYPE) != [_FLOAT32]:
        return 0
    shape = next(messages(attributes.get("shape", empty), _VALUE_SHAPE), empty)
    return value_count(_dimension(part) or 0 for part in messages(shape, _SHAPE_DIM))
