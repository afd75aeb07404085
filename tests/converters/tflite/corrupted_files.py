"""Make a model file wrong in one chosen place, through LiteRT's own object API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import to_flatbuffer


def damaged(model: Model, change: Callable[[Any], None]) -> bytes:
    """The file of ``model`` after ``change`` has had its way with the unpacked tables (a ``ModelT``)."""
    root = schema.ModelT.InitFromPackedBuf(to_flatbuffer(model), 0)
    change(root)
    builder = flatbuffers.Builder(1024)
    builder.Finish(root.Pack(builder), b"TFL3")
    return bytes(builder.Output())
