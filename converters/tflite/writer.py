"""Write a ``Model`` as a TFLite flatbuffer."""

from __future__ import annotations

from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.graph.model import Model, Op, Signature, Subgraph, Tensor
from arenite.converters.tflite.int4 import pack_int4_weights
from arenite.converters.tflite.schema_names import (
    OP_CODES,
    OPTION2_CODES,
    OPTION_CODES,
    TYPE_CODES,
    options_object,
    snake,
)
from arenite.errors import UnsupportedModelError

#: deprecatedBuiltinCode is one signed byte. For operator codes that do not fit, it has this placeholder (schema.fbs).
_PLACEHOLDER_FOR_GREATER_OP_CODE = 127

#: The alignment of Buffer.data and of other byte vectors within the file (force_align in schema.fbs).
_DATA_ALIGNMENT = 16

#: The bytes that are reserved for tables when the constants are compared with the format's limit of 2 GiB.
_TABLE_BYTES = 1 << 24


class _Builder(flatbuffers.Builder):  # type: ignore[misc]
    """A flatbuffer builder that aligns byte vectors as LiteRT's kernels expect, and stores equal vectors of scales or
    zero points once. The generated schema module does neither."""

    def __init__(self, initial_size: int) -> None:
        super().__init__(initial_size)
        self._vectors: dict[tuple[str, bytes], int] = {}

    def CreateNumpyVector(self, x: np.ndarray) -> int:
        if x.dtype != np.uint8:
            # The weights and the bias of a layer have the same zero points, 8 bytes per channel.
            key = str(x.dtype), x.tobytes()
            if key not in self._vectors:
                self._vectors[key] = int(super().CreateNumpyVector(x))
            return self._vectors[key]
        self.StartVector(1, x.size, _DATA_ALIGNMENT)
        self.head -= x.size
        self.Bytes[self.head : self.head + x.size] = x.tobytes()
        return int(self.EndVector())


class _Writer:
    """Collects the buffers and operator codes that the tables of one model share."""

    def __init__(self) -> None:
        self.buffers: list[Any] = [schema.BufferT()]  # buffer 0 is empty by convention
        self._by_content: dict[bytes, int] = {}
        self.codes: list[Any] = []
        self._by_code: dict[tuple[str, int, str], int] = {}
        self.bytes = 0

    def buffer(self, value: bytes) -> int:
        """Return the index of the buffer with ``value``. Equal values share a buffer."""
        if value not in self._by_content:
            buffer: Any = schema.BufferT()
            buffer.data = np.frombuffer(value, np.uint8)
            self._by_content[value] = len(self.buffers)
            self.buffers.append(buffer)
            self.bytes += len(value) + _DATA_ALIGNMENT
        return self._by_content[value]

    def code(self, o: Op) -> int:
        """Return the index of the operator code of ``o``. Equal operator codes are stored once."""
        key = (o.name, o.version, o.custom_code)
        if key not in self._by_code:
            code = schema.OperatorCodeT()
            code.builtinCode = OP_CODES[o.name]
            code.deprecatedBuiltinCode = min(code.builtinCode, _PLACEHOLDER_FOR_GREATER_OP_CODE)
            code.version, code.customCode = o.version, o.custom_code or None
            self._by_code[key] = len(self.codes)
            self.codes.append(code)
        return self._by_code[key]


def to_flatbuffer(model: Model) -> bytes:
    """Return the model as the bytes of a TFLite file. Equal models give equal bytes. Constants start at multiples of 16
    bytes.

    Raises ``UnsupportedModelError`` if the constants do not fit into the 2 GiB that the format allows.
    """
    writer = _Writer()
    table = schema.ModelT()
    table.version = 3
    table.description = model.description
    table.subgraphs = [_subgraph(g, writer) for g in model.subgraphs]
    table.metadata = [_metadata(name, value, writer) for name, value in model.metadata.items()] or None
    table.signatureDefs = [_signature(s) for s in model.signatures] or None
    table.buffers, table.operatorCodes = writer.buffers, writer.codes
    if writer.bytes + _TABLE_BYTES > flatbuffers.Builder.MAX_BUFFER_SIZE:
        raise UnsupportedModelError(
            f"The model's constants take {writer.bytes:,} bytes; a TFLite file can hold 2 GiB.",
            "Quantize the model.",
        )
    builder = _Builder(writer.bytes + 4096)
    builder.Finish(table.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _metadata(name: str, value: bytes, writer: _Writer) -> Any:
    entry = schema.MetadataT()
    entry.name, entry.buffer = name, writer.buffer(value)
    return entry


def _subgraph(g: Subgraph, writer: _Writer) -> Any:
    out = schema.SubGraphT()
    out.name = g.name
    out.tensors = [_tensor(t, writer) for t in g.tensors]
    out.operators = [_op(o, writer) for o in g.ops]
    out.inputs = list(g.inputs)
    out.outputs = list(g.outputs)
    return out


def _tensor(t: Tensor, writer: _Writer) -> Any:
    out = schema.TensorT()
    out.name, out.shape, out.type = t.name, list(t.shape), TYPE_CODES[t.stored or t.dtype]
    out.hasRank = True
    out.isVariable = t.is_variable
    if t.data is not None:
        out.buffer = writer.buffer(
            _little_endian(pack_int4_weights(t.data) if t.stored == "int4" else t.data)
        )
    out.shapeSignature = None if t.shape_signature is None else list(t.shape_signature)
    if t.quant is not None:
        q: Any = schema.QuantizationParametersT()
        q.scale = np.array(t.quant.scale, np.float32)
        q.zeroPoint = np.array(t.quant.zero_point, np.int64)
        q.quantizedDimension = t.quant.axis if t.quant.per_axis else 0
        out.quantization = q
    return out


def _little_endian(values: np.ndarray) -> bytes:
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


def _op(o: Op, writer: _Writer) -> Any:
    out: Any = schema.OperatorT()
    out.opcodeIndex = writer.code(o)
    out.inputs, out.outputs = list(o.inputs), list(o.outputs)
    out.intermediates = list(o.intermediates) or None
    if o.custom_options:
        out.customOptions = np.frombuffer(o.custom_options, np.uint8)
    if o.options_type:
        table = options_object(o.options_type)
        for attribute in vars(table):
            if snake(attribute) in o.options:
                setattr(table, attribute, _option(o.options[snake(attribute)]))
        if o.options_type in OPTION2_CODES:
            out.builtinOptions2Type, out.builtinOptions2 = OPTION2_CODES[o.options_type], table
        else:
            out.builtinOptionsType, out.builtinOptions = OPTION_CODES[o.options_type], table
    return out


def _option(value: Any) -> Any:
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    return list(value) if isinstance(value, tuple) else value


def _signature(s: Signature) -> Any:
    out = schema.SignatureDefT()
    out.signatureKey, out.subgraphIndex = s.key, s.subgraph
    out.inputs, out.outputs = _tensor_maps(s.inputs), _tensor_maps(s.outputs)
    return out


def _tensor_maps(pairs: tuple[tuple[str, int], ...]) -> list[Any]:
    tensor_maps = []
    for name, index in pairs:
        m = schema.TensorMapT()
        m.name, m.tensorIndex = name, index
        tensor_maps.append(m)
    return tensor_maps
