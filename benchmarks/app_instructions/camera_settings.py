"""The settings of applications with a camera whose instructions are measured. Their images record no preprocessing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.decision.record import Decision
from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import image_bytes
from arenite.files import write_atomic
from arenite.host.build.prepare import Prepared, prepare
from tests.fuzz.graph_builder import GraphBuilder, f32
from tests.host.small_graphs import quant


def whole_input_model(height: int, width: int, channels: int) -> Model:
    """Return a model whose first operator needs the whole picture, with two scores."""
    b = GraphBuilder(np.random.default_rng(4))
    x = b.input((1, height, width, channels), "int8", quant(0.02, 3))
    count = b[x].elements
    flat = b.tensor((1, count), "int8", b[x].quant)
    b.op("RESHAPE", [x, b.const([1, count], "int32")], [flat], "ReshapeOptions", new_shape=[1, count])
    weights = b.const(b.rng.integers(-127, 128, (2, count)), "int8", quant(0.01))
    bias = b.const([0, 0], "int32", quant(f32(0.02) * f32(0.01)))
    scores = b.tensor((1, 2), "int8", quant(0.1, -4))
    b.op("FULLY_CONNECTED", [flat, weights, bias], [scores], "FullyConnectedOptions", 4)
    return b.build()


def camera_model(path: Path, model: Model, rate: int, hop: int) -> Prepared:
    """Write an image of ``model`` with a decision of ``rate`` frames per second, and return it read back."""
    decision = Decision(threshold=0.99, release=0.5, smooth="mean", hops=2, rate=rate, hop=hop)
    extra: dict[str, Any] = {"labels": ["one", "two"], "decision": decision.to_json()}
    write_atomic(path, image_bytes(model, None, extra=extra))
    return prepare(path)


def camera_settings() -> list[tuple[Model, int, int]]:
    """Return (model, frames per second, frames from inference to inference)."""
    return [
        (whole_input_model(size, size + 8, channels), rate, hop)
        for size, channels, rate, hop in (
            (24, 1, 5, 1),
            (80, 1, 2, 1),
            (32, 3, 2, 2),
            (64, 3, 1, 1),
            (56, 1, 3, 3),
            (40, 3, 6, 1),
            (96, 1, 8, 1),
            (48, 1, 10, 1),
            (72, 3, 4, 1),
            (28, 3, 12, 1),
        )
    ]
