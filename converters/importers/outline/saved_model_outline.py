"""Read the outline of a SavedModel: its inputs, outputs and layers. The field numbers are those of saved_model.proto,
meta_graph.proto, graph.proto and function.proto of TensorFlow."""

from __future__ import annotations

import math

from arenite.converters.importers.outline.outline import Outline, OutlineLayer, OutlineTensor, Shape
from arenite.converters.importers.outline.protobuf import messages, numbers, text, texts
from arenite.converters.importers.subprocesses.signature_choice import SignatureProblem, choose_signature
from arenite.errors import ModelError, UsageError

_META_GRAPHS, _GRAPH, _SIGNATURES = 2, 2, 5
#: The name of the signature with which TensorFlow initializes a model.
_INITIALIZATION = "__saved_model_init_op"
_FLOAT32 = 1

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
    signatures = {text(entry, 1): entry for entry in messages(meta_graph, _SIGNATURES)}
    signatures.pop(_INITIALIZATION, None)
    chosen = next(messages(signatures[_signature(source, signature, sorted(signatures))], 2))
    inputs, outputs = ([_tensor(entry) for entry in messages(chosen, number)] for number in (1, 2))
    outputs_of_nodes = {text(info, 1) for entry in messages(chosen, 2) for info in messages(entry, 2)}
    nodes = [node for graph in messages(meta_graph, _GRAPH) for node in _nodes(graph, outputs_of_nodes)]
    return Outline(
        tuple(OutlineLayer(text(node, 1), text(node, 2), _steps(node)) for node in nodes),
        tuple(sorted(inputs, key=lambda tensor: tensor.name)),  # the order in which they are converted
        tuple(sorted(outputs, key=lambda tensor: tensor.name)),
        sum(_variable_size(node) for node in nodes if text(node, 2) == "VarHandleOp")
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
    for info in messages(entry, 2):
        for proto in messages(info, 3):
            if numbers(proto, 3) != [1]:  # the number of dimensions is known
                shape = tuple(_dimension(part) for part in messages(proto, 2))
    return OutlineTensor(text(entry, 1), shape)


def _dimension(part: memoryview) -> int | None:
    size = (numbers(part, 1) or [0])[-1]
    return size if size >= 0 else None


def _nodes(graph: memoryview, outputs: set[str]) -> list[memoryview]:
    """Return the operators from which the tensors ``outputs`` are computed, with the operators of called functions."""
    functions = {}
    for library in messages(graph, 2):
        for function in messages(library, 1):
            functions[text(next(messages(function, 1), memoryview(b"")), 1)] = function
    by_name = {text(node, 1): node for node in messages(graph, 1)}
    pending = [by_name[name] for name in _nodes_behind(by_name, outputs)]
    nodes, called = [], set()
    constants = {name for name, node in by_name.items() if text(node, 2) == "Const"}
    while pending:
        node = pending.pop()
        condition = (texts(node, 3) or [""])[0].partition(":")[0]
        # A constant condition leaves one branch.
        if text(node, 2) not in _BRANCHES or condition not in constants:
            nodes.append(node)
        for name in _called_functions(node):
            if name not in called and name in functions:
                called.add(name)
                body = {text(n, 1): n for n in messages(functions[name], 3)}
                constants.update(n for n in body if text(body[n], 2) == "Const")
                results = {text(entry, 2) for entry in messages(functions[name], 4)}
                pending += [body[n] for n in _nodes_behind(body, results)]
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
        pending += [i.partition(":")[0] for i in texts(nodes[name], 3)]
    return list(found)


def _called_functions(node: memoryview) -> list[str]:
    """Return the names of the functions in the attributes of ``node``."""
    names = []
    for attribute in messages(node, 5):
        for value in messages(attribute, 2):
            for function in messages(value, 10):
                names.append(text(function, 1))
            for values in messages(value, 1):
                names += [text(function, 1) for function in messages(values, 9)]
    return names


def _steps(node: memoryview) -> dict[str, tuple[int, ...]]:
    steps = {}
    for attribute in messages(node, 5):
        name = text(attribute, 1)
        if name not in ("strides", "dilations"):
            continue
        for value in messages(attribute, 2):
            for values in messages(value, 1):
                steps[name] = tuple(numbers(values, 3))
    return steps


def _variable_size(node: memoryview) -> int:
    """Return the number of values of a float32 variable, or 0 for a variable of another type or of unknown shape."""
    attributes = {text(entry, 1): next(messages(entry, 2), memoryview(b"")) for entry in messages(node, 5)}
    if numbers(attributes.get("dtype", memoryview(b"")), 6) != [_FLOAT32]:
        return 0
    shape = next(messages(attributes.get("shape", memoryview(b"")), 7), memoryview(b""))
    return math.prod(_dimension(part) or 0 for part in messages(shape, 2))
