"""Read a TFLite flatbuffer into a ``Model``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.errors import ModelError
from arenite.converters.graph import DTYPES, Model, Op, Quantization, Signature, Subgraph, Tensor
from arenite.converters.importers.schema import OP_NAMES, OPTION2_NAMES, OPTION_NAMES, TYPE_NAMES, snake


def load(path: str | Path) -> Model:
    """Read the file at ``path``; ``ModelError`` names the file when it is missing or malformed."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelError(f"Cannot read {path}: {error.strerror}.", "Check the path.") from error
    return parse(data)


def parse(data: bytes) -> Model:
    """Read a flatbuffer held in memory."""
    table = schema.ModelT.InitFromPackedBuf(data, 0)
    buffers = [_bytes(b.data) for b in table.buffers or []]
    return Model(
        subgraphs=tuple(_subgraph(g, table, buffers) for g in table.subgraphs),
        description=_text(table.description),
        metadata={_text(m.name): buffers[m.buffer] for m in table.metadata or []},
        signatures=tuple(_signature(s) for s in table.signatureDefs or []),
    )


def _text(value: bytes | str | None) -> str:
    if value is None:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _bytes(value: Any) -> bytes:
    return b"" if value is None else bytes(np.asarray(value, dtype=np.uint8))


def _ints(value: Any) -> tuple[int, ...]:
    return () if value is None else tuple(int(v) for v in value)


def _subgraph(g: Any, table: Any, buffers: list[bytes]) -> Subgraph:
    tensors = tuple(_tensor(i, t, buffers) for i, t in enumerate(g.tensors or []))
    ops = tuple(_op(i, o, table) for i, o in enumerate(g.operators or []))
    return Subgraph(_text(g.name), tensors, ops, _ints(g.inputs), _ints(g.outputs))


def _tensor(index: int, t: Any, buffers: list[bytes]) -> Tensor:
    shape = _ints(t.shape)
    dtype = TYPE_NAMES[t.type]
    raw = buffers[t.buffer]
    data = None
    np_dtype = DTYPES.get(dtype)
    if raw and np_dtype is not None:
        data = np.frombuffer(raw, dtype=np_dtype.newbyteorder("<")).reshape(shape)
    return Tensor(
        index=index,
        name=_text(t.name),
        shape=shape,
        dtype=dtype,
        quant=_quantization(t.quantization),
        data=data,
        is_variable=bool(t.isVariable),
        shape_signature=None if t.shapeSignature is None else _ints(t.shapeSignature),
    )


def _quantization(q: Any) -> Quantization | None:
    if q is None or q.scale is None or len(q.scale) == 0:
        return None
    scale = tuple(float(s) for s in q.scale)
    zero = _ints(q.zeroPoint) or (0,) * len(scale)
    return Quantization(scale, zero, int(q.quantizedDimension))


def _op(index: int, o: Any, table: Any) -> Op:
    code = table.operatorCodes[o.opcodeIndex]
    # Files older than schema 3a keep the operator only in the one-byte field.
    builtin = max(code.builtinCode, code.deprecatedBuiltinCode)
    options: dict[str, Any] = {}
    options_type = ""
    for kind, obj, names in (
        (o.builtinOptionsType, o.builtinOptions, OPTION_NAMES),
        (o.builtinOptions2Type, o.builtinOptions2, OPTION2_NAMES),
    ):
        if obj is not None and kind:
            options_type = names[kind]
            options = {snake(k): _option(v) for k, v in vars(obj).items()}
    return Op(
        index=index,
        name=OP_NAMES[builtin],
        inputs=_ints(o.inputs),
        outputs=_ints(o.outputs),
        options=options,
        options_type=options_type,
        version=code.version,
        custom_code=_text(code.customCode),
        custom_options=_bytes(o.customOptions),
        intermediates=_ints(o.intermediates),
    )


def _option(value: Any) -> Any:
    if isinstance(value, (list, np.ndarray)):
        return tuple(v.item() if hasattr(v, "item") else v for v in value)
    return _text(value) if isinstance(value, bytes) else value


def _signature(s: Any) -> Signature:
    def pairs(maps: Any) -> tuple[tuple[str, int], ...]:
        return tuple((_text(m.name), m.tensorIndex) for m in maps or [])

    return Signature(_text(s.signatureKey), s.subgraphIndex, pairs(s.inputs), pairs(s.outputs))
