"""Read the inputs of an ONNX graph, and how many bytes and parameters its constants have, without loading them.

The file is one protocol buffer message (onnx.proto of onnx/onnx). Constants may be in other files beside it; their
sizes follow from their shapes.
"""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

from arenite.converters.importers.protobuf import as_message, as_text, message_fields, packed
from arenite.errors import ModelError
from arenite.input_files import check_is_file

# The numbers of fields in onnx.proto.
_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT = 1, 5, 11
_NODE_INPUT, _NODE_TYPE, _NODE_ATTRIBUTE = 1, 4, 5
_ATTRIBUTE_NAME, _ATTRIBUTE_INT = 1, 3
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_NAME = 1, 2, 8
_VALUE_NAME, _VALUE_TYPE, _TYPE_TENSOR, _TENSOR_TYPE_KIND, _TENSOR_TYPE_SHAPE = 1, 2, 1, 1, 2
#: The names and the bits of the element types, by their numbers in TensorProto.DataType.
ELEMENT_TYPES = {
    1: ("f32", 32), 2: ("u8", 8), 3: ("i8", 8), 4: ("u16", 16), 5: ("i16", 16), 6: ("i32", 32), 7: ("i64", 64),
    9: ("bool", 8), 10: ("f16", 16), 11: ("f64", 64), 12: ("u32", 32), 13: ("u64", 64), 16: ("bf16", 16),
    17: ("f8", 8), 18: ("f8", 8), 19: ("f8", 8), 20: ("f8", 8), 21: ("u4", 4), 22: ("i4", 4),
}  # fmt: skip
_FLOATS = ("f32", "f16", "bf16")
#: The operators that multiply by a constant, those with packed weights of few bits, those that read single rows of a
#: constant, and those whose constants are tables of angles.
_PACKED_MATMUL = "MatMulNBits"
_MATMULS = ("MatMul", "Gemm", "FusedMatMul", _PACKED_MATMUL)
_GATHERS = ("Gather", "GatherBlockQuantized")
_ROTARY = ("GroupQueryAttention", "RotaryEmbedding")
#: A larger constant is a mistake in the file.
_MAX_ELEMENTS = 1 << 40


@dataclass(frozen=True)
class OnnxInput:
    """An input: the name of its element type, and its shape. A dimension that is not known is None."""

    kind: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class OnnxWeights:
    """What a graph says about memory. ``inputs``: by name. ``parameters``: the numbers of the trained weights.
    ``weight_bytes``: all constants. The ``active`` ones are read completely in each run; of an embedding, only rows
    are. ``copied_bytes``: matrices that are both embedding and factor. ``tied``: there is such a matrix. ``kind``: the
    type of most multiplied weights, such as "float32" or "int4". ``sides``: the rows and columns of the factors."""

    inputs: dict[str, OnnxInput]
    parameters: int
    active_parameters: int
    weight_bytes: int
    active_bytes: int
    copied_bytes: int
    kind: str
    sides: tuple[tuple[int, int], ...]

    @property
    def tied(self) -> bool:
        return self.copied_bytes > 0


@dataclass(frozen=True)
class _Constant:
    kind: str
    bits: int
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return -(-prod(self.shape) * self.bits // 8)


@dataclass(frozen=True)
class _Node:
    kind: str
    inputs: tuple[str, ...]
    numbers: dict[str, int]


def read_onnx_weights(path: Path) -> OnnxWeights:
    """Return what the graph in the file ``path`` says. Raises ``ModelError`` if it is damaged, and ``OSError``."""
    check_is_file(path)
    with path.open("rb") as file:
        try:
            # The garbage collector closes the map: an exception may still hold parts of it.
            return _weights(*_read(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))))
        except ValueError as error:  # also of an empty file
            raise ModelError(f"{path.name} is damaged: {error}.", "Download the model again.") from error


def _read(data: memoryview) -> tuple[list[_Node], dict[str, _Constant], dict[str, OnnxInput]]:
    nodes, constants, inputs = list[_Node](), dict[str, _Constant](), dict[str, OnnxInput]()
    found = False
    for field, value in message_fields(data):
        if field != _MODEL_GRAPH:
            continue
        found = True
        for part, item in message_fields(as_message(value)):
            if part == _GRAPH_NODE:
                nodes.append(_node(as_message(item)))
            elif part == _GRAPH_INITIALIZER:
                name, constant = _constant(as_message(item))
                constants[name] = constant
            elif part == _GRAPH_INPUT:
                name, value_info = _input(as_message(item))
                inputs[name] = value_info
    if not found:
        raise ValueError("it has no graph")
    return nodes, constants, inputs


def _node(data: memoryview) -> _Node:
    kind, inputs, numbers = "", list[str](), dict[str, int]()
    for field, value in message_fields(data):
        if field == _NODE_TYPE:
            kind = as_text(value)
        elif field == _NODE_INPUT:
            inputs.append(as_text(value))
        elif field == _NODE_ATTRIBUTE:
            parts = dict(message_fields(as_message(value)))
            number = parts.get(_ATTRIBUTE_INT)
            if isinstance(number, int):
                numbers[as_text(parts.get(_ATTRIBUTE_NAME))] = number
    return _Node(kind, tuple(inputs), numbers)


def _constant(data: memoryview) -> tuple[str, _Constant]:
    name, kind, shape = "", 0, list[int]()
    for field, value in message_fields(data):
        if field == _TENSOR_NAME:
            name = as_text(value)
        elif field == _TENSOR_TYPE and isinstance(value, int):
            kind = value
        elif field == _TENSOR_DIMS:
            shape += [value] if isinstance(value, int) else packed(value)
    if kind not in ELEMENT_TYPES or prod(shape) > _MAX_ELEMENTS:
        raise ValueError(f"the constant '{name[:80]}' has the type {kind} and the shape {shape[:8]}")
    return name, _Constant(*ELEMENT_TYPES[kind], tuple(shape))


def _input(data: memoryview) -> tuple[str, OnnxInput]:
    parts = dict(message_fields(data))
    tensor = dict(message_fields(as_message(parts.get(_VALUE_TYPE)))).get(_TYPE_TENSOR)
    fields = dict(message_fields(as_message(tensor)))
    kind = fields.get(_TENSOR_TYPE_KIND)
    shape = list[int | None]()
    for _, side in message_fields(as_message(fields.get(_TENSOR_TYPE_SHAPE))):
        size = dict(message_fields(as_message(side))).get(1)
        shape.append(size if isinstance(size, int) else None)
    name = ELEMENT_TYPES.get(kind, ("", 0))[0] if isinstance(kind, int) else ""
    return as_text(parts.get(_VALUE_NAME)), OnnxInput(name, tuple(shape))


def _weights(
    nodes: list[_Node], constants: dict[str, _Constant], inputs: dict[str, OnnxInput]
) -> OnnxWeights:
    users: dict[str, set[str]] = {name: set() for name in constants}
    parameters = {name: _parameters(constant) for name, constant in constants.items()}
    kinds, sides = Counter[str](), list[tuple[int, int]]()
    for node in nodes:
        for position, name in enumerate(node.inputs):
            if name in users:
                # The second input of such an operator has the numbers of the rows.
                users[name].add("" if node.kind in _GATHERS and position == 1 else node.kind)
        for name, count in _packed_parameters(node, constants):
            parameters[name] = count
        if node.kind in _MATMULS and len(node.inputs) > 1 and node.inputs[1] in constants:
            kind, matrix = _matrix(node, constants[node.inputs[1]])
            kinds[kind] += prod(matrix)
            sides.append(matrix)
    total = Counter[str]()
    for name, constant in constants.items():
        if users[name] and users[name] <= {*_ROTARY}:
            total["bytes"] += constant.bytes
            continue
        active = not users[name] or not users[name] <= {*_GATHERS}
        total["bytes"] += constant.bytes
        total["parameters"] += parameters[name]
        total["active_bytes"] += constant.bytes * active
        total["active_parameters"] += parameters[name] * active
        if users[name] & {*_GATHERS} and users[name] & {*_MATMULS}:
            total["copied"] += constant.bytes
    return OnnxWeights(
        inputs={name: value for name, value in inputs.items() if name not in constants},
        parameters=total["parameters"],
        active_parameters=total["active_parameters"],
        weight_bytes=total["bytes"],
        active_bytes=total["active_bytes"],
        copied_bytes=total["copied"],
        kind=kinds.most_common(1)[0][0] if kinds else "",
        sides=tuple(sides),
    )


def _parameters(constant: _Constant) -> int:
    return prod(constant.shape) if constant.kind in _FLOATS else 0


def _packed_parameters(node: _Node, constants: dict[str, _Constant]) -> Iterator[tuple[str, int]]:
    """Yield the constants of a node with packed weights, and the parameters that each counts for: the weights
    themselves, but no scales and zero points."""
    if node.kind == _PACKED_MATMUL and len(node.inputs) > 1:
        weight, others = node.inputs[1], node.inputs[2:4]
        count = node.numbers.get("K", 0) * node.numbers.get("N", 0)
    elif node.kind == "GatherBlockQuantized" and node.inputs and node.inputs[0] in constants:
        weight, others = node.inputs[0], node.inputs[2:4]
        constant = constants[weight]
        bits = min(node.numbers.get("bits", 4), constant.bits)
        count = prod(constant.shape) * constant.bits // max(bits, 1)
    else:
        return
    yield weight, count
    for name in others:
        yield name, 0


def _matrix(node: _Node, constant: _Constant) -> tuple[str, tuple[int, int]]:
    """Return the type of the weights of a node that multiplies, and the sides of their matrix."""
    if node.kind == _PACKED_MATMUL:
        return f"int{node.numbers.get('bits', 4)}", (node.numbers.get("K", 0), node.numbers.get("N", 0))
    names = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
    rows, columns = (1, 1, *constant.shape)[-2:]
    return names.get(constant.kind, constant.kind), (rows, columns)
