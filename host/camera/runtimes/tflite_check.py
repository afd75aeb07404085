"""Refuse a damaged model file before a runtime opens it, because some damage crashes LiteRT and thus the loop.

The file is mapped into memory, and its tables are decoded with a check of every offset. The weights are not read. This
takes 3 ms for a small model and 16 ms for EfficientNet-lite0. Wrong values in a well-formed file are not detected. They
may still crash a runtime, so the automatic choice measures runtimes in separate processes.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

from arenite.converters.graph.model import Op
from arenite.converters.tflite.external_data import ExternalData
from arenite.converters.tflite.operators import operator
from arenite.converters.tflite.schema_names import OP_NAMES
from arenite.converters.tflite.subgraph_calls import check_calls
from arenite.converters.tflite.verifier import decode
from arenite.errors import ModelError, UnsupportedModelError

_HINT = "The file is damaged: convert or download it again."
#: No tensor of a camera model has more elements. The limit also prevents overflows in LiteRT's sums.
_MAX_ELEMENTS = 1 << 31


def check_tflite_file(path: Path) -> None:
    """Check the file. If it is damaged, raises ``ModelError``, whose text names the file, the table and the field."""
    try:
        with path.open("rb") as file:
            if not file.seek(0, 2):
                raise ModelError(f"{path} is empty.", _HINT)
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise ModelError(f"Cannot read {path}: {error.strerror or error}.", "Check the path.") from error
    try:
        _check(decode(data), memoryview(data))  # type: ignore[arg-type]
    except ModelError as error:
        raise type(error)(f"{path}: {error.problem}", error.hint) from error


def _check(model: dict[str, Any], data: memoryview) -> None:
    """Check every index, the options of the operators and the calls between subgraphs. ``decode`` has already checked
    all offsets. Raises ``ModelError``."""
    subgraphs = model["subgraphs"] or []
    codes, buffers = model["operator_codes"] or [], len(model["buffers"] or [])
    if not subgraphs:
        raise ModelError("The model has no subgraph.", _HINT)
    # An operator code that is not in the schema may be an operator of a newer LiteRT, so it is accepted.
    names = [
        OP_NAMES.get(max(c["deprecated_builtin_code"], c["builtin_code"]), "an unknown operator")
        for c in codes
    ]
    external = ExternalData(data)
    operators = []
    for at, subgraph in enumerate(subgraphs):
        tensors = subgraph["tensors"] or []
        for index, tensor in enumerate(tensors):
            where = f"Subgraph {at}, tensor {index}"
            _check_index(tensor["buffer"], buffers, f"{where}, field buffer")
            elements = 1
            for size in tensor["shape"] or ():
                elements *= max(size, 1)
                if size < -1 or elements > _MAX_ELEMENTS:
                    raise UnsupportedModelError(
                        f"{where}: shape {list(tensor['shape'])} is impossible.", _HINT
                    )
        for field in ("inputs", "outputs"):
            for index in subgraph[field] or ():
                _check_index(index, len(tensors), f"Subgraph {at}, field {field}")
        operators.append(
            [
                operator(at, index, table, codes, names, len(tensors), external)
                for index, table in enumerate(subgraph["operators"] or [])
            ]
        )
        _check_order(at, subgraph, operators[-1], model["buffers"] or [])
    check_calls(operators)
    for at, signature in enumerate(model["signature_defs"] or []):
        _check_index(signature["subgraph_index"], len(subgraphs), f"Signature {at}, field subgraph_index")
        tensors = subgraphs[signature["subgraph_index"]]["tensors"] or []
        for field in ("inputs", "outputs"):
            for entry in signature[field] or ():
                _check_index(entry["tensor_index"], len(tensors), f"Signature {at}, field {field}")


def _check_order(at: int, subgraph: dict[str, Any], ops: list[Op], buffers: list[dict[str, Any]]) -> None:
    """Check that every operator reads only tensors that have a value before it runs, and writes only tensors that have
    no value yet. Raises ``ModelError``."""
    tensors = subgraph["tensors"] or []
    existing: set[int] = set(subgraph["inputs"] or ())
    existing.update(
        i
        for i, tensor in enumerate(tensors)
        if tensor["is_variable"] or 0 in (tensor["shape"] or ()) or _has_data(buffers[tensor["buffer"]])
    )
    for op in ops:
        for i in op.inputs:
            if i >= 0 and i not in existing:
                raise ModelError(
                    f"Subgraph {at}, operator {op.index} {op.name}: no earlier operator computes input tensor {i}.",
                    _HINT,
                )
        for i in op.outputs:
            if i in existing:
                raise ModelError(
                    f"Subgraph {at}, operator {op.index} {op.name}: its output, tensor {i}, has a value already.",
                    _HINT,
                )
        existing.update(op.outputs)


def _has_data(buffer: dict[str, Any]) -> bool:
    return bool(buffer["data"]) or buffer["size"] > 0


def _check_index(index: int, count: int, where: str, minimum: int = 0) -> None:
    if not minimum <= index < count:
        raise ModelError(f"{where}: {index} is out of range; there are {count} entries.", _HINT)
