"""Read the operators and constants of an ONNX file without the onnx library (onnx.proto of onnx/onnx).

Only what classical models use is read: no subgraphs, functions or files with external weights.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import prod
from pathlib import Path

import numpy as np

from arenite.converters.importers.protobuf import (
    as_message,
    as_text,
    message_fields,
    packed,
    read_field,
    read_varint,
    signed,
)
from arenite.errors import ModelError

#: The domain of the operators of classical machine learning.
ML_DOMAIN = "ai.onnx.ml"

#: A larger file is not a classical model for a microcontroller.
MAX_FILE_BYTES = 32 << 20
MAX_OPERATORS = 10_000
MAX_ELEMENTS = 1 << 23
MAX_DIMENSIONS = 32
#: The largest number of integers and texts in all attributes, such as the features of all nodes, and of integers in a
#: tensor without raw data.
MAX_VALUES = 1 << 22

# The numbers of the fields in onnx.proto. ``_DIMS`` to ``_LOCATION`` are fields of TensorProto. A tag is the first byte
# of each element in a list of numbers or texts: field number << 3 | wire type.
_MODEL_PRODUCER, _MODEL_GRAPH = 2, 7
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT = 1, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_TYPE, _NODE_ATTRIBUTE, _NODE_DOMAIN = 1, 2, 3, 4, 5, 7
_ATTR_NAME, _ATTR_FLOAT, _ATTR_INT, _ATTR_TEXT, _ATTR_TENSOR = 1, 2, 3, 4, 5
_ATTR_GRAPH, _ATTR_FLOATS, _ATTR_INTS, _ATTR_TEXTS, _ATTR_GRAPHS = 6, 7, 8, 9, 11
_DIMS, _TYPE, _FLOATS, _INT32S, _INT64S, _NAME, _RAW, _DOUBLES, _LOCATION = 1, 2, 4, 5, 7, 8, 9, 10, 14
_INT_TAG, _FLOAT_TAG, _TEXT_TAG = _ATTR_INTS << 3, _ATTR_FLOATS << 3 | 5, _ATTR_TEXTS << 3 | 2

#: The NumPy types of the values of TensorProto.DataType.
_DTYPES = {1: "<f4", 2: "u1", 3: "i1", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 11: "<f8"}

#: The value of an attribute: a number, a text, an array, a list of texts, or None for a kind that is not read.
Attribute = int | float | str | np.ndarray | list[str] | None


@dataclass(frozen=True)
class OnnxNode:
    """An operator. ``kind`` is its type, such as "MatMul"; ``domain`` is "" for ONNX's own operators."""

    name: str
    kind: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]

    def __str__(self) -> str:
        return f"layer '{self.name or ', '.join(self.outputs)}' ({self.kind})"


@dataclass(frozen=True)
class OnnxInput:
    """An input of the model. A dimension that is not known is None."""

    name: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class OnnxGraph:
    """The graph of a file. ``constants`` has the initializers by name; one of an unsupported type is None."""

    producer: str
    nodes: tuple[OnnxNode, ...]
    constants: Mapping[str, np.ndarray | None]
    inputs: tuple[OnnxInput, ...]
    outputs: tuple[str, ...]


def has_ml_operators(path: Path) -> bool:
    """Return whether the ONNX file at ``path`` has operators of classical machine learning. Returns False for a file
    that cannot be read; other code reports why."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return False
        data = memoryview(path.read_bytes())
        graph = next((as_message(v) for f, v in message_fields(data) if f == _MODEL_GRAPH), memoryview(b""))
        nodes = (as_message(v) for f, v in message_fields(graph) if f == _GRAPH_NODE)
        return any(
            as_text(value) == ML_DOMAIN
            for node in islice(nodes, MAX_OPERATORS)
            for number, value in islice(message_fields(node), MAX_OPERATORS)
            if number == _NODE_DOMAIN
        )
    except (OSError, ValueError):
        return False


def read_onnx_graph(path: Path) -> OnnxGraph:
    """Return the graph of the ONNX file at ``path``. Raises ``ModelError`` if the file is damaged or too large."""
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise ModelError(
                f"{path} has {size:,} bytes; a classical model may have {MAX_FILE_BYTES:,}.",
                "Train a smaller model: fewer trees, or a smaller depth.",
            )
        return _graph(memoryview(path.read_bytes()))
    except OSError as error:
        raise ModelError(f"Cannot read {path}: {error.strerror or error}.", "Check the path.") from error
    except (ValueError, struct.error, OverflowError) as error:
        raise ModelError(f"Cannot read {path}: {error}.", "Export the model again.") from error


def _graph(data: memoryview) -> OnnxGraph:
    producer, graph = "", None
    for field, value in message_fields(data):
        if field == _MODEL_PRODUCER:
            producer = as_text(value)
        elif field == _MODEL_GRAPH:
            graph = as_message(value)
    if graph is None:
        raise ValueError("it has no graph")
    nodes: list[OnnxNode] = []
    count = 0
    constants: dict[str, np.ndarray | None] = {}
    inputs: list[OnnxInput] = []
    outputs: list[str] = []
    for field, value in message_fields(graph):
        if field == _GRAPH_NODE:
            if len(nodes) >= MAX_OPERATORS:
                raise ValueError(f"it has more than {MAX_OPERATORS:,} operators")
            node, size = _node(as_message(value), MAX_VALUES - count)
            nodes.append(node)
            count += size
        elif field == _GRAPH_INITIALIZER:
            name, array = _tensor(as_message(value))
            constants[name] = array
        elif field == _GRAPH_INPUT:
            inputs.append(_input(as_message(value)))
        elif field == _GRAPH_OUTPUT:
            outputs.append(next((as_text(v) for f, v in message_fields(as_message(value)) if f == 1), ""))
    # Old files also list the constants among the inputs.
    real_inputs = tuple(i for i in inputs if i.name not in constants)
    return OnnxGraph(producer, tuple(nodes), constants, real_inputs, tuple(outputs))


def _node(data: memoryview, limit: int) -> tuple[OnnxNode, int]:
    """Return the operator, and the number of integers and texts in its attributes. Raises ``ValueError`` if there are
    more than ``limit``."""
    texts: dict[int, list[str]] = {
        _NODE_INPUT: [],
        _NODE_OUTPUT: [],
        _NODE_NAME: [],
        _NODE_TYPE: [],
        _NODE_DOMAIN: [],
    }
    attributes = {}
    count = 0
    for field, value in message_fields(data):
        if field in texts:
            texts[field].append(as_text(value))
        elif field == _NODE_ATTRIBUTE:
            name, attribute, size = _attribute(as_message(value), limit - count)
            attributes[name] = attribute
            count += size
    name, kind, domain = ("".join(texts[f][-1:]) for f in (_NODE_NAME, _NODE_TYPE, _NODE_DOMAIN))
    domain = "" if domain == "ai.onnx" else domain
    node = OnnxNode(name, kind, domain, tuple(texts[_NODE_INPUT]), tuple(texts[_NODE_OUTPUT]), attributes)
    return node, count


def _attribute(data: memoryview, limit: int) -> tuple[str, Attribute, int]:
    """Return the name and the value of an attribute, and the number of integers and texts in it. Raises ``ValueError``
    if there are more than ``limit``."""
    name, value = "", None
    floats: list[np.ndarray] = []
    ints: list[int] = []
    texts: list[str] = []
    at = 0
    while at < len(data):
        _check_count(len(ints) + len(texts), limit)
        # Lists have one field per element. They may be long, so they are read without a generator.
        if data[at] == _FLOAT_TAG and len(data) - at >= 5:
            run = _float_run(data[at:])
            floats.append(run)
            at += 5 * len(run)
            continue
        if data[at] == _INT_TAG:
            number, at = read_varint(data, at + 1)
            ints.append(number)
            continue
        if data[at] == _TEXT_TAG:
            size, start = read_varint(data, at + 1)
            at = start + size
            if at > len(data):
                raise ValueError("it is cut off or damaged")
            texts.append(as_text(data[start:at]))
            continue
        field, part, at = read_field(data, at)
        if field == _ATTR_NAME:
            name = as_text(part)
        elif field == _ATTR_FLOAT and isinstance(part, int):
            value = struct.unpack("<f", part.to_bytes(4, "little"))[0]
        elif field == _ATTR_INT and isinstance(part, int):
            value = signed(part)
        elif field == _ATTR_TEXT:
            value = as_text(part)
        elif field == _ATTR_TENSOR:
            value = _tensor(as_message(part))[1]
        elif field == _ATTR_FLOATS:
            floats.append(np.frombuffer(as_message(part), "<f4"))
        elif field == _ATTR_INTS:
            ints += islice(packed(as_message(part)), limit + 1)
        elif field in (_ATTR_GRAPH, _ATTR_GRAPHS):
            raise ValueError("it has operators with subgraphs")
    _check_count(len(ints) + len(texts), limit)
    if floats:
        value = np.concatenate(floats)
    elif ints:
        value = np.array([signed(n) for n in ints], np.int64)
    elif texts:
        value = texts
    return name, value, len(ints) + len(texts)


def _check_count(count: int, limit: int) -> None:
    if count > limit:
        raise ValueError(f"its attributes have more than {MAX_VALUES:,} integers and texts")


def _float_run(data: memoryview) -> np.ndarray:
    """Return the numbers of consecutive fields of one float each, at the beginning of ``data``."""
    fields = np.frombuffer(data[: len(data) // 5 * 5], np.uint8).reshape(-1, 5)
    others = np.flatnonzero(fields[:, 0] != _FLOAT_TAG)
    fields = fields[: others[0]] if len(others) else fields
    return np.ascontiguousarray(fields[:, 1:]).view("<f4").reshape(-1)


def _tensor(data: memoryview) -> tuple[str, np.ndarray | None]:
    """Return the name and the value of a tensor. The value is None if its type is not supported."""
    name, dims, kind, raw = "", list[int](), 0, None
    # Each number may have a field of its own, so no array is made per field.
    reals, real_type, integers = bytearray(), "<f4", list[int]()
    for field, value in message_fields(data):
        if field == _DIMS:
            dims += [value] if isinstance(value, int) else islice(packed(value), MAX_DIMENSIONS + 1)
            if len(dims) > MAX_DIMENSIONS:
                raise ValueError(f"a tensor has more than {MAX_DIMENSIONS} dimensions")
        elif field == _TYPE and isinstance(value, int):
            kind = value
        elif field == _NAME:
            name = as_text(value)
        elif field == _RAW:
            raw = as_message(value)
        elif field in (_FLOATS, _DOUBLES):
            real_type = "<f4" if field == _FLOATS else "<f8"
            reals += value.to_bytes(int(real_type[-1]), "little") if isinstance(value, int) else value
        elif field in (_INT32S, _INT64S):
            integers += [value] if isinstance(value, int) else islice(packed(value), MAX_VALUES + 1)
            if len(integers) > MAX_VALUES:
                raise ValueError(f"a tensor has more than {MAX_VALUES:,} integers")
        elif field == _LOCATION and value:
            raise ValueError(
                f"tensor '{name}' is in another file, which is not supported for classical models"
            )
    if kind not in _DTYPES:
        return name, None
    count = prod(dims)
    if any(d < 0 for d in dims) or count > MAX_ELEMENTS:
        raise ValueError(f"tensor '{name}' has {count:,} elements, the limit is {MAX_ELEMENTS:,}")
    if raw is not None:
        values = np.frombuffer(raw, _DTYPES[kind])
    elif integers:
        values = np.array([signed(n) for n in integers], np.int64)
    else:
        values = np.frombuffer(bytes(reals), real_type)
    if values.size != count:
        raise ValueError(f"tensor '{name}' has {values.size} values, its shape {dims} needs {count}")
    return name, values.astype(np.dtype(_DTYPES[kind]).newbyteorder("=")).reshape(dims)


def _input(data: memoryview) -> OnnxInput:
    """Return the input in a ``ValueInfoProto``: name (field 1), type (2), tensor_type (1), shape (2), dim and dim_value
    (1)."""
    fields = dict(message_fields(data))
    tensor = dict(message_fields(as_message(fields.get(2)))).get(1)
    shape: list[int | None] = []
    for number, value in message_fields(as_message(tensor)):
        if number == 2:
            for _, side in message_fields(as_message(value)):
                size = dict(message_fields(as_message(side))).get(1)
                shape.append(size if isinstance(size, int) and 0 < size < 1 << 31 else None)
    return OnnxInput(as_text(fields.get(1)), tuple(shape))


def texts_of(values: Attribute) -> Iterator[str]:
    """Yield the texts of an attribute with labels: strings, or integers as text."""
    if isinstance(values, list):
        yield from values
    elif isinstance(values, np.ndarray):
        yield from (str(int(v)) for v in values)
