"""The settings of applications with a camera whose instructions are measured: several formats of pixels, with and
without a resize."""

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

#: The formats that are measured.
_FORMATS = ("grey", "rgb", "rgb565", "yuyv")
#: Method and convention of each kind of resize, None for no resize; and how many of each.
_RESIZES: tuple[tuple[tuple[str, str] | None, int], ...] = (
    (None, 1),
    (("nearest", "pil"), 1),
    (("bilinear", "pil"), 2),
    (("bilinear", "tf"), 2),
)


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


def camera_model(
    path: Path, model: Model, preprocessing: dict[str, Any] | None, rate: int, hop: int
) -> Prepared:
    """Write an image of ``model`` with a decision of ``rate`` frames per second, and return it read back."""
    decision = Decision(threshold=0.99, release=0.5, smooth="mean", hops=2, rate=rate, hop=hop)
    extra: dict[str, Any] = {"labels": ["one", "two"], "decision": decision.to_json()}
    extra |= {} if preprocessing is None else {"preprocessing": preprocessing}
    write_atomic(path, image_bytes(model, None, extra=extra))
    return prepare(path)


def camera_settings(seed: int = 3) -> list[tuple[Model, dict[str, Any] | None, int, int]]:
    """Return (model, preprocessing, frames per second, frames from inference to inference)."""
    rng = np.random.default_rng(seed)
    found: list[tuple[Model, dict[str, Any] | None, int, int]] = []
    for size, channels, rate, hop in (
        (24, 1, 5, 1),
        (80, 1, 2, 1),
        (32, 3, 2, 2),
        (64, 3, 1, 1),
        (56, 1, 3, 3),
    ):
        found.append((whole_input_model(size, size + 8, channels), None, rate, hop))
    for format in _FORMATS:
        for resize, count in _RESIZES:
            for channels in (1,) if format == "grey" else (1, 3):
                found += [_setting(rng, format, resize, channels) for _ in range(count)]
    return found


def _setting(
    rng: np.random.Generator, format: str, resize: tuple[str, str] | None, channels: int
) -> tuple[Model, dict[str, Any] | None, int, int]:
    width, height = (2 * int(n) for n in rng.integers(14, 44, 2))
    steps: list[dict[str, Any]] = []
    if rng.random() < 0.3:
        width, height = width - 4, height - 6
        steps.append({"do": "crop", "x": 2, "y": 4, "width": width, "height": height})
    source = {
        "kind": "image",
        "format": format,
        "width": width + 4 * bool(steps),
        "height": height + 6 * bool(steps),
    }
    if channels == 1 and format != "grey":
        steps.append({"do": "colour", "to": "grey"})
    if resize is not None:
        factor = float(rng.uniform(0.35, 0.9))
        width, height = round(width * factor), round(height * factor)
        steps.append(
            {"do": "resize", "width": width, "height": height, "method": resize[0], "convention": resize[1]}
        )
    steps.append({"do": "normalise", "divide": 127.5, "mean": 1.0})
    model = whole_input_model(height, width, channels)
    return model, {"source": source, "steps": steps}, int(rng.integers(1, 6)), int(rng.integers(1, 3))
