"""Read the tensors and the metadata of a ``.onnx`` file before a runtime loads it.

The file is one protocol buffer message (onnx.proto of onnx/onnx). Weights are skipped and not parsed, so that the time
does not depend on their size.
"""

from __future__ import annotations

from arenite.converters.graph.tensor import Quantization, Tensor
from arenite.converters.importers.protobuf import as_message, as_text, message_fields
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


def read_onnx(data: memoryview, name: str) -> ModelHeader:
    """Return the header of the ONNX file with the content ``data``. Dynamic dimensions become 1. ``name`` is for error
    messages. Raises ``ModelError``."""
    try:
        graph: memoryview | None = None
        metadata: dict[str, bytes] = {}
        for field, value in message_fields(data):
            if field == _MODEL_GRAPH and isinstance(value, memoryview):
                graph = value
            elif field == _MODEL_METADATA and isinstance(value, memoryview):
                entry = dict(message_fields(value))
                metadata[as_text(entry.get(1))] = as_text(entry.get(2)).encode()
        if graph is None:
            raise ValueError("it has no graph")
        input_messages, output_messages, constant = [], [], set()
        for field, value in message_fields(graph):
            if field == _GRAPH_INPUT and isinstance(value, memoryview):
                input_messages.append(value)
            elif field == _GRAPH_OUTPUT and isinstance(value, memoryview):
                output_messages.append(value)
            elif field == _GRAPH_INITIALIZER and isinstance(value, memoryview):
                # Old files also list the weights among the inputs.
                constant.add(
                    next((as_text(v) for f, v in message_fields(value) if f == _TENSOR_PROTO_NAME), "")
                )
        inputs = [tensor for tensor in map(_read_tensor, input_messages) if tensor.name not in constant]
        return ModelHeader(tuple(inputs), tuple(map(_read_tensor, output_messages)), metadata)
    except (ValueError, IndexError) as error:
        raise ModelError(f"Cannot read {name}: {error}.", "Give a .tflite or .onnx file.") from error


def _read_tensor(value: memoryview) -> Tensor:
    parts = dict(message_fields(value))
    dtype, shape = "resource", []
    for field, entry in message_fields(
        as_message(dict(message_fields(as_message(parts.get(_VALUE_TYPE)))).get(_TYPE_TENSOR))
    ):
        if field == _TENSOR_TYPE and isinstance(entry, int):
            dtype = _TYPES.get(entry, "resource")
        elif field == _TENSOR_SHAPE:
            for _, side in message_fields(as_message(entry)):
                size = dict(message_fields(as_message(side))).get(1, 0)
                shape.append(size if isinstance(size, int) and 0 < size < 2**31 else 1)
    # An integer tensor has no scale here, so its real values are the integers.
    quant = Quantization((1.0,), (0,)) if dtype in ("uint8", "int8", "int16") else None
    return Tensor(0, as_text(parts.get(_VALUE_NAME)), tuple(shape), dtype, quant)
