"""Write a ``Model`` as a TFLite flatbuffer, and an image with its plan in the metadata."""

from __future__ import annotations

from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.graph import Model, Op, Subgraph, Tensor
from arenite.converters.importers.schema import (
    OP_CODES,
    OPTION2_CODES,
    OPTION_CODES,
    TYPE_CODES,
    options_object,
    snake,
)

#: deprecatedBuiltinCode holds one signed byte; larger codes put this placeholder there (schema.fbs).
_PLACEHOLDER_FOR_GREATER_OP_CODE = 127


def to_flatbuffer(model: Model) -> bytes:
    """The model as a TFLite file. Equal models give equal bytes."""
    table = schema.ModelT()
    table.version = 3
    table.description = model.description
    table.buffers = [schema.BufferT()]  # buffer 0 is empty by convention
    codes: dict[tuple[str, int, str], int] = {}
    table.operatorCodes = []
    table.subgraphs = [_subgraph(g, table, codes) for g in model.subgraphs]
    table.metadata = []
    for name, value in model.metadata.items():
        entry = schema.MetadataT()
        entry.name, entry.buffer = name, _add_buffer(table, value)
        table.metadata.append(entry)
    table.signatureDefs = [_signature(s) for s in model.signatures] or None
    builder = flatbuffers.Builder(1024)
    builder.Finish(table.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _add_buffer(table: Any, value: bytes) -> int:
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(value, np.uint8)
    table.buffers.append(buffer)
    return len(table.buffers) - 1


def _subgraph(g: Subgraph, table: Any, codes: dict[tuple[str, int, str], int]) -> Any:
    out = schema.SubGraphT()
    out.name = g.name
    out.tensors = [_tensor(t, table) for t in g.tensors]
    out.operators = [_op(o, table, codes) for o in g.ops]
    out.inputs = list(g.inputs)
    out.outputs = list(g.outputs)
    return out


def _tensor(t: Tensor, table: Any) -> Any:
    out = schema.TensorT()
    out.name, out.shape, out.type = t.name, list(t.shape), TYPE_CODES[t.dtype]
    out.hasRank = True
    out.isVariable = t.is_variable
    out.buffer = 0 if t.data is None else _add_buffer(table, np.ascontiguousarray(t.data).tobytes())
    out.shapeSignature = None if t.shape_signature is None else list(t.shape_signature)
    if t.quant is not None:
        q = schema.QuantizationParametersT()
        q.scale = list(t.quant.scale)
        q.zeroPoint = list(t.quant.zero_point)
        q.quantizedDimension = t.quant.axis if t.quant.per_axis else 0
        out.quantization = q
    return out


def _op(o: Op, table: Any, codes: dict[tuple[str, int, str], int]) -> Any:
    key = (o.name, o.version, o.custom_code)
    if key not in codes:
        code = schema.OperatorCodeT()
        code.builtinCode = OP_CODES[o.name]
        code.deprecatedBuiltinCode = min(code.builtinCode, _PLACEHOLDER_FOR_GREATER_OP_CODE)
        code.version, code.customCode = o.version, o.custom_code or None
        codes[key] = len(table.operatorCodes)
        table.operatorCodes.append(code)
    out = schema.OperatorT()
    out.opcodeIndex = codes[key]
    out.inputs, out.outputs = list(o.inputs), list(o.outputs)
    out.intermediates = list(o.intermediates) or None
    if o.custom_options:
        out.customOptions = list(o.custom_options)
    if o.options_type:
        table_object = options_object(o.options_type)
        for attribute in vars(table_object):
            if snake(attribute) in o.options:
                value = o.options[snake(attribute)]
                setattr(table_object, attribute, list(value) if isinstance(value, tuple) else value)
        if o.options_type in OPTION2_CODES:
            out.builtinOptions2Type, out.builtinOptions2 = OPTION2_CODES[o.options_type], table_object
        else:
            out.builtinOptionsType, out.builtinOptions = OPTION_CODES[o.options_type], table_object
    return out


def _signature(s: Any) -> Any:
    out = schema.SignatureDefT()
    out.signatureKey, out.subgraphIndex = s.key, s.subgraph

    def maps(pairs: Any) -> list[Any]:
        made = []
        for name, index in pairs:
            m = schema.TensorMapT()
            m.name, m.tensorIndex = name, index
            made.append(m)
        return made

    out.inputs, out.outputs = maps(s.inputs), maps(s.outputs)
    return out
