"""Make small models that look at pictures: they record their decision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.decision.record import Decision
from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import image_bytes
from arenite.files import write_atomic
from arenite.host.build.prepare import Prepared, prepare
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import CLASSES, classifier, quant

SIZE = 12
DECISION = Decision(threshold=0.92, release=0.9, smooth="mean", hops=2, rate=10)
#: Pixels of a camera with 2 bytes per pixel, cut and resized to the model's input.
YUYV: dict[str, Any] = {
    "source": {"kind": "image", "format": "yuyv", "width": 40, "height": 30},
    "steps": [
        {"do": "crop", "x": 6, "y": 4, "width": 24, "height": 24},
        {"do": "resize", "width": SIZE, "height": SIZE, "method": "bilinear", "convention": "tf"},
        {"do": "normalise", "divide": 127.5, "mean": 1.0},
    ],
}


def whole_input_model() -> Model:
    """Return a model whose first operator needs the whole picture."""
    b = GraphBuilder(np.random.default_rng(4))
    x = b.input((1, SIZE, SIZE, 3), "int8", quant(0.02, 3))
    count = b[x].elements
    flat = b.tensor((1, count), "int8", b[x].quant)
    b.op("RESHAPE", [x, b.const([1, count], "int32")], [flat], "ReshapeOptions", new_shape=[1, count])
    weights = b.const(b.rng.integers(-127, 128, (CLASSES, count)), "int8", quant(0.01))
    bias = b.const(b.rng.integers(-500, 500, CLASSES), "int32", quant(0.0002))
    scores = b.tensor((1, CLASSES), "int8", quant(0.1, -4))
    b.op("FULLY_CONNECTED", [flat, weights, bias], [scores], "FullyConnectedOptions", 4)
    out = b.tensor((1, CLASSES), "int8", quant(1 / 256, -128))
    b.op("SOFTMAX", [scores], [out], "SoftmaxOptions", 2, beta=1.0)
    return b.build()


def picture_model(
    path: Path,
    decision: Decision | None = DECISION,
    preprocessing: dict[str, Any] | None = None,
    model: Model | None = None,
) -> Prepared:
    """Write a model with random weights as an image, and return it read back. ``None`` leaves a record out."""
    extra: dict[str, Any] = {"labels": [f"thing {k}" for k in range(CLASSES)]}
    extra |= {} if preprocessing is None else {"preprocessing": preprocessing}
    extra |= {} if decision is None else {"decision": decision.to_json()}
    write_atomic(path, image_bytes(model or classifier(SIZE), None, extra=extra))
    return prepare(path)


def gray_model(folder: Path, rate: int = 2) -> Prepared:
    """Return a model that takes 96x96 gray pixels, with a decision of ``rate`` frames per second."""
    decision = replace(DECISION, rate=rate)
    return picture_model(folder / "eye.tflite", decision, model=classifier(96, colors=1))


def pictures(count: int, size: int = 32, seed: int = 5) -> list[np.ndarray]:
    """Return uint8 pictures [size, size, 3]: noise of several colors and contrasts; each one stays for two frames with
    other noise."""
    rng = np.random.default_rng(seed)
    result: list[np.ndarray] = []
    while len(result) < count:
        color = rng.integers(0, 256, (1, 1, 3))
        shade = np.linspace(rng.uniform(0.2, 1), rng.uniform(0.2, 1), size)[:, None, None]
        for _ in range(min(2, count - len(result))):
            noisy = color * shade + rng.normal(0, 20, (size, size, 3))
            result.append(np.clip(noisy, 0, 255).astype(np.uint8))
    return result
