"""Change one chosen place of a model file with LiteRT's object API, mostly to something invalid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import to_flatbuffer

#: A function that modifies the unpacked tables of a model (a ``ModelT``).
Change = Callable[[Any], None]


def corrupted(model: Model, change: Change) -> bytes:
    """Return the file of ``model`` after ``change`` has modified its unpacked tables (a ``ModelT``)."""
    root = schema.ModelT.InitFromPackedBuf(to_flatbuffer(model), 0)
    change(root)
    builder = flatbuffers.Builder(1024)
    builder.Finish(root.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _set_attributes(table_of: Callable[[Any], Any], values: dict[str, Any]) -> Change:
    """Return a change that sets the attributes ``values`` of the table that ``table_of`` finds in the model."""

    def change(root: Any) -> None:
        for name, value in values.items():
            setattr(table_of(root), name, value)

    return change


# Each function returns a change that sets attributes of one table of the model or of its first subgraph.


def change_model(**values: Any) -> Change:
    return _set_attributes(lambda root: root, values)


def change_signature(**values: Any) -> Change:
    return _set_attributes(lambda root: root.signatureDefs[0], values)


def change_subgraph(**values: Any) -> Change:
    return _set_attributes(lambda root: root.subgraphs[0], values)


def change_tensor(index: int, **values: Any) -> Change:
    return _set_attributes(lambda root: root.subgraphs[0].tensors[index], values)


def change_quantization(index: int, **values: Any) -> Change:
    return _set_attributes(lambda root: root.subgraphs[0].tensors[index].quantization, values)


def change_operator(index: int, **values: Any) -> Change:
    return _set_attributes(lambda root: root.subgraphs[0].operators[index], values)


def change_options(index: int, **values: Any) -> Change:
    return _set_attributes(lambda root: root.subgraphs[0].operators[index].builtinOptions, values)
