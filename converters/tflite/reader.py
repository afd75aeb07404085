"""Read a TFLite flatbuffer into a ``Model``.

``verifier.decode`` checks the bytes and converts them to plain tables. The other modules of this package check the
content of the tables and repair the mistakes of old converters. Every error is a ``ModelError`` that names the table
and the field.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from arenite.converters.graph.model import Model, Op, Signature, Subgraph, Tensor
from arenite.converters.tflite.diagnostics import Repairs, malformed, quoted, unsupported
from arenite.converters.tflite.external_data import ExternalData
from arenite.converters.tflite.open_dimensions import Shapes, fix_dimensions
from arenite.converters.tflite.operator_order import check_interface, execution_order
from arenite.converters.tflite.operators import operator, operator_names
from arenite.converters.tflite.subgraph_calls import check_calls
from arenite.converters.tflite.tensors import Constants, empty_constant, tensor
from arenite.converters.tflite.verifier import MAX_FILE_BYTES, decode
from arenite.counts import count_of
from arenite.errors import ModelError
from arenite.input_files import check_is_file

#: The schema version of every TFLite file since 2017.
_VERSION = 3

#: The name that TensorFlow gives to a model's only entry point.
DEFAULT_SIGNATURE = "serving_default"


def load(path: str | Path) -> Model:
    """Return the model in the file at ``path``. Raises ``ModelError``, which names the file, if the file is missing or
    malformed."""
    return parse(read_bytes(path), str(path))


def read_bytes(path: str | Path) -> bytes:
    """Return the bytes of a model file. Raises ``ModelError`` if the file cannot be read or is larger than
    ``MAX_FILE_BYTES``, the limit of a flatbuffer."""
    try:
        check_is_file(path)
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:  # Python raises ValueError if the path contains a zero byte
        raise ModelError(
            f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.", "Check the path."
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise ModelError(f"{path} is larger than 2 GiB.", "Use a smaller or a quantized model.")
    return data


def parse(data: bytes, path: str = "", *, shapes: Shapes | None = None, keep_open: bool = False) -> Model:
    """Return the model in the flatbuffer ``data``. Error messages begin with ``path`` if it is not empty.

    ``shapes`` has the shapes of inputs with open dimensions (-1), by name of the input in the graph or in the
    signature. "" stands for the only input. The shapes of other tensors that depend on the inputs may be wrong in the
    result: ``fold_constants`` computes them. With ``keep_open``, an open dimension without a size is no error and has
    the size 1.

    The model meets the guarantees that the docstrings of ``converters/graph`` state. ``Model.repairs`` lists the
    repairs that were necessary. Raises only ``ModelError`` for a malformed model, ``UnsupportedModelError`` for a
    well-formed model that Arenite does not support, and ``UsageError`` for ``shapes`` that do not fit.
    """
    try:
        return _model(bytes(data), shapes or {}, keep_open)
    except ModelError as error:
        if path:
            raise type(error)(f"{path}: {error.problem}", error.hint) from error
        raise
    except (
        struct.error,
        ValueError,
        IndexError,
        KeyError,
        TypeError,
        OverflowError,
        RecursionError,
    ) as error:
        # The checks above should be complete. If one is missing, the user still gets an error instead of a traceback.
        raise ModelError(
            f"{path + ': ' if path else ''}The model is malformed in a way that has no specific check "
            f"({type(error).__name__}: {error}).",
            "Convert the model again, and please report the file to Arenite.",
        ) from error


def _model(data: bytes, shapes: Shapes, keep_open: bool) -> Model:
    """Return the model, as ``parse`` does, but let other errors than ``ModelError`` pass."""
    root = decode(data)
    if root["version"] != _VERSION:
        raise malformed("Model", "version", f"is {root['version']}, expected {_VERSION}")
    if root["external_buffers"] or root["external_buffer_groups"]:
        raise unsupported(
            "Model", "external_buffers", "weights in other files are not supported", "Save it in one file."
        )
    if not root["subgraphs"]:
        raise malformed("Model", "subgraphs", "is empty: the model has no graph")
    repairs = Repairs()
    external_data = ExternalData(memoryview(data))
    buffers = [_buffer(i, b, external_data) for i, b in enumerate(root["buffers"] or [])]
    constants = Constants(buffers)
    codes = root["operator_codes"] or []
    names = operator_names(codes, repairs)
    main = root["subgraphs"][0]
    main["tensors"] = fix_dimensions(
        main["tensors"] or [],
        main["inputs"] or (),
        _input_names(root["signature_defs"] or []),
        shapes,
        repairs,
        keep_open=keep_open,
    )
    subgraphs = tuple(
        _subgraph(i, g, constants, codes, names, external_data, repairs)
        for i, g in enumerate(root["subgraphs"])
    )
    check_calls([g.ops for g in subgraphs])
    return Model(
        subgraphs=subgraphs,
        description=root["description"] or "",
        metadata=_metadata(root["metadata"] or [], buffers, repairs),
        signatures=_signatures(root["signature_defs"] or [], subgraphs, repairs),
        repairs=repairs.sentences(),
    )


def _input_names(signatures: list[dict[str, Any]]) -> dict[int, str]:
    """Return {tensor index: name} for the inputs of the main graph, with the names in its first signature."""
    entries = [entry for entry in signatures if entry["subgraph_index"] == 0][:1]
    return {m["tensor_index"]: m["name"] or "" for entry in entries for m in entry["inputs"] or []}


def _buffer(index: int, table: dict[str, Any], external_data: ExternalData) -> memoryview:
    if table["data"] is not None:
        return cast(memoryview, table["data"])
    return external_data.take(f"Buffer {index}", "data", table["offset"], table["size"])


def _subgraph(
    index: int,
    table: dict[str, Any],
    constants: Constants,
    codes: list[dict[str, Any]],
    names: list[str],
    external_data: ExternalData,
    repairs: Repairs,
) -> Subgraph:
    tensors = [tensor(index, i, t, constants, repairs) for i, t in enumerate(table["tensors"] or [])]
    inputs: tuple[int, ...] = table["inputs"] or ()
    outputs: tuple[int, ...] = table["outputs"] or ()
    check_interface(index, tensors, inputs, outputs)
    ops = [
        operator(index, i, o, codes, names, len(tensors), external_data)
        for i, o in enumerate(table["operators"] or [])
    ]
    tensors = _with_empty_constants(tensors, ops, inputs)
    ordered = execution_order(index, tensors, ops, inputs, outputs, repairs)
    return Subgraph(table["name"] or "", tuple(tensors), ordered, inputs, outputs)


def _with_empty_constants(tensors: list[Tensor], ops: list[Op], inputs: tuple[int, ...]) -> list[Tensor]:
    """Return ``tensors`` with an empty value for each tensor that has a dimension of 0 and no producer. Such a tensor
    is a constant that the file stores without bytes."""
    if all(t.elements for t in tensors):
        return tensors
    computed_tensors = set(inputs).union(*(op.outputs for op in ops))
    return [
        replace(t, data=empty_constant(t))
        if not (t.elements or t.is_constant or t.is_variable or t.index in computed_tensors)
        else t
        for t in tensors
    ]


def _metadata(entries: list[dict[str, Any]], buffers: list[memoryview], repairs: Repairs) -> dict[str, bytes]:
    """Return {name: value} of the metadata entries. If several entries have one name, the first entry counts."""
    out: dict[str, bytes] = {}
    copies: dict[int, bytes] = {}  # bytes of each buffer, because entries may share a buffer
    for i, entry in enumerate(entries):
        name, index = entry["name"] or "", entry["buffer"]
        if index >= len(buffers):
            raise malformed(
                f"Metadata entry {i} {quoted(name)}",
                "buffer",
                f"is {index}, but the model has {count_of(len(buffers), 'buffer')}",
            )
        if name in out:
            repairs.add(
                "metadata",
                quoted(name),
                lambda n, first: (
                    f"{count_of(n, 'metadata entry')} with a name used before (first: {first}) is left out."
                ),
            )
            continue
        if index not in copies:
            copies[index] = bytes(buffers[index])
        out[name] = copies[index]
    return out


def _signatures(
    entries: list[dict[str, Any]], subgraphs: tuple[Subgraph, ...], repairs: Repairs
) -> tuple[Signature, ...]:
    """Return the signatures, or a default signature if the file has none."""
    out = []
    keys: set[str] = set()
    for i, entry in enumerate(entries):
        key, subgraph = entry["signature_key"], entry["subgraph_index"]
        location = f"Signature {i}" + (f" {quoted(key)}" if key else "")
        if not key or key in keys:
            raise malformed(location, "signature_key", "is given twice" if key else "is missing")
        keys.add(key)
        if subgraph >= len(subgraphs):
            raise malformed(
                location,
                "subgraph_index",
                f"is {subgraph}, but the model has {count_of(len(subgraphs), 'subgraph')}",
            )
        tensors = len(subgraphs[subgraph].tensors)
        inputs = _pairs(location, "inputs", entry["inputs"] or [], tensors)
        outputs = _pairs(location, "outputs", entry["outputs"] or [], tensors)
        out.append(Signature(key, subgraph, inputs, outputs))
    if not out:
        out.append(_default_signature(subgraphs[0]))
        repairs.add(
            "signature",
            "",
            lambda n, first: (
                f"The model had no signature; '{DEFAULT_SIGNATURE}' names its inputs and outputs."
            ),
        )
    return tuple(out)


def _pairs(
    location: str, field: str, maps: list[dict[str, Any]], tensors: int
) -> tuple[tuple[str, int], ...]:
    """Return (name, tensor index) of each entry of a signature's field."""
    for position, m in enumerate(maps):
        if m["tensor_index"] >= tensors:
            raise malformed(
                location,
                f"{field}[{position}].tensor_index",
                f"is {m['tensor_index']}, but the subgraph has {count_of(tensors, 'tensor')}",
            )
    return tuple((m["name"] or "", m["tensor_index"]) for m in maps)


def _default_signature(g: Subgraph) -> Signature:
    """Return a signature for a main graph that has none."""

    def name_tensors(indices: tuple[int, ...], prefix: str) -> tuple[tuple[str, int], ...]:
        """Return (unique name, tensor index) of each tensor. ``prefix`` begins the name of a tensor without a
        name."""
        pairs: dict[str, int] = {}
        for position, index in enumerate(indices):
            name = g.tensors[index].name or f"{prefix}_{position}"
            pairs[name if name not in pairs else f"{name}:{position}"] = index
        return tuple(pairs.items())

    return Signature(DEFAULT_SIGNATURE, 0, name_tensors(g.inputs, "input"), name_tensors(g.outputs, "output"))
