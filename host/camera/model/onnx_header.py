"""Read the tensors and the metadata of a ``.onnx`` file before a runtime loads it.

The file is one protocol buffer message (onnx.proto of onnx/onnx). Weights are skipped and not parsed, so that the time
does not depend on their size.
"""

from __future__ import annotations

from collections.abc import Iterator

from arenite.converters.graph.tensor import Quantization, Tensor
from arenite.errors import ModelError
from arenite.host.camera.model.tflite_header import ModelHeader

#: The numbers of fields in onnx.proto.
_MODEL_GRAPH, _MODEL_METADATA = 7, 14
_GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT = 5, 11, 12
_VALUE_NAME, _VALUE_TYPE, _TYPE_TENSOR, _TENSOR_TYPE, _TENSOR_SHAPE = 1, 2, 1, 1, 2
_TENSOR_PROTO_NAME = 8
#: The values of TensorProto.DataType, with the names of the types in Arenite.
_TYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
}
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # the wire types of protocol buffers


def read_onnx(data: memoryview, name: str) -> ModelHeader:
    """Return the header of the ONNX file with the content ``data``. Dynamic dimensions become 1. ``name`` is for error
    messages. Raises ``ModelError``."""
    try:
        graph: memoryview | None = None
        metadata: dict[str, bytes] = {}
        for field, value in _fields(data):
            if field == _MODEL_GRAPH and isinstance(value, memoryview):
                graph = value
            elif field == _MODEL_METADATA and isinstance(value, memoryview):
                entry = dict(_fields(value))
                metadata[_text(entry.get(1))] = _text(entry.get(2)).encode()
        if graph is None:
            raise ValueError("it has no graph")
        input_messages, output_messages, constant = [], [], set()
        for field, value in _fields(graph):
            if field == _GRAPH_INPUT and isinstance(value, memoryview):
                input_messages.append(value)
            elif field == _GRAPH_OUTPUT and isinstance(value, memoryview):
                output_messages.append(value)
            elif field == _GRAPH_INITIALIZER and isinstance(value, memoryview):
                # Old files also list the weights among the inputs.
                constant.add(next((_text(v) for f, v in _fields(value) if f == _TENSOR_PROTO_NAME), ""))
        inputs = [tensor for tensor in map(_tensor, input_messages) if tensor.name not in constant]
        return ModelHeader(tuple(inputs), tuple(map(_tensor, output_messages)), metadata)
    except (ValueError, IndexError) as error:
        raise ModelError(f"Cannot read {name}: {error}.", "Give a .tflite or .onnx file.") from error


def _tensor(value: memoryview) -> Tensor:
    parts = dict(_fields(value))
    dtype, shape = "resource", []
    for field, entry in _fields(_message(dict(_fields(_message(parts.get(_VALUE_TYPE)))).get(_TYPE_TENSOR))):
        if field == _TENSOR_TYPE and isinstance(entry, int):
            dtype = _TYPES.get(entry, "resource")
        elif field == _TENSOR_SHAPE:
            for _, side in _fields(_message(entry)):
                size = dict(_fields(_message(side))).get(1, 0)
                shape.append(size if isinstance(size, int) and 0 < size < 2**31 else 1)
    # An integer tensor has no scale here, so its real values are the integers.
    quant = Quantization((1.0,), (0,)) if dtype in ("uint8", "int8", "int16") else None
    return Tensor(0, _text(parts.get(_VALUE_NAME)), tuple(shape), dtype, quant)


def _message(value: int | memoryview | None) -> memoryview:
    return value if isinstance(value, memoryview) else memoryview(b"")


def _text(value: int | memoryview | None) -> str:
    return bytes(_message(value)).decode("utf-8", "replace")


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field of a message. A floating-point value is an integer with its bits."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError("it is not a protocol buffer")
        if at + size > end:
            raise ValueError("it is cut off or damaged")
        part = data[at : at + size]
        at += size
        yield tag >> 3, part if kind == _BYTES else int.from_bytes(part, "little")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the variable-length integer at byte ``at``, and the position after it."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("it is cut off or damaged")
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
