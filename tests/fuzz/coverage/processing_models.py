"""Models whose images record pre- and postprocessing, for the fuzz target of the C code that computes these steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.graph.model import Model
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import quant

_RESIZED = {"do": "resize", "width": 12, "height": 12}
_NORMALIZED = {"do": "normalise", "divide": 127.5, "mean": 1.0}


def _picture(format: str, width: int, height: int, *steps: dict[str, Any]) -> dict[str, Any]:
    """Return preprocessing of pictures with the pixel format ``format``."""
    source = {"kind": "image", "format": format, "width": width, "height": height}
    return {"source": source, "steps": list(steps)}


#: Together, these pictures have every convention of resizing and a pixel format of every kind.
_PICTURES = {
    "pil": _picture("rgb", 31, 23, _RESIZED, _NORMALIZED),
    "opencv": _picture("rgb565be", 32, 24, _RESIZED | {"convention": "opencv"}, _NORMALIZED),
    "area": _picture(
        "bgra", 26, 40, {"do": "colour", "to": "rgb"}, _RESIZED | {"convention": "opencv", "method": "area"}
    ),
    "tf": _picture("yuyv", 32, 20, _RESIZED | {"convention": "tf"}, _NORMALIZED),
    "box": _picture(
        "nv12",
        16,
        30,
        {"do": "letterbox", "width": 20, "height": 14, "fill": [9, 99, 199]},
        {"do": "crop", "width": 12, "height": 12},
        {"do": "normalise", "divide": 255, "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4]},
    ),
    "planes": _picture("yv12", 18, 14, _RESIZED | {"convention": "opencv"}, _NORMALIZED),
}


def _sound(frames: int, *steps: dict[str, Any], **frame: Any) -> tuple[dict[str, Any], tuple[int, int]]:
    """Return preprocessing of ``frames`` frames of 64 samples, and the shape of its result (frames, features).
    ``frame`` has further options of the first step."""
    source = {"kind": "audio", "rate": 16000, "samples": 64 * frames}
    first: list[dict[str, Any]] = [
        {"do": "frame", "length": 64, "step": 64, **frame},
        {"do": "window"},
        {"do": "fft", "length": 64},
    ]
    features = 33
    for step in steps:
        features = step.get("bins") or step.get("coefficients") or features
    return {"source": source, "steps": [*first, *steps]}, (frames, features)


_SOUNDS = {
    "mfcc": _sound(
        4,
        {"do": "mel", "bins": 10, "low": 100, "high": 7000},
        {"do": "log", "offset": 1e-6},
        {"do": "mfcc", "coefficients": 6},
    ),
    "spectrum": _sound(5, {"do": "log", "base": "10", "factor": 10.0, "floor": 1e-9}),
    "micro": (
        {
            "source": {"kind": "audio", "rate": 16000, "samples": 480},
            "steps": [{"do": "micro", "length": 240, "step": 120, "channels": 12}],
        },
        (3, 12),
    ),
}

_BOXES = {"do": "boxes", "anchors": [[0.1 * k, 0.05 * k, 0.9, 0.8] for k in range(10)], "threshold": 0.3}
_YOLO = {"do": "yolo", "unit": "fractions", "layout": "columns", "points": 1, "threshold": 0.2}
#: Maps a name to the type of the model's outputs, the shape of each output, and the postprocessing steps.
_ANSWERS: dict[str, tuple[str, list[tuple[int, ...]], list[dict[str, Any]]]] = {
    "softmax": ("int8", [(1, 40)], [{"do": "top_k", "k": 5, "softmax": True}]),
    "best": ("int8", [(1, 20)], [{"do": "top_k", "k": 3, "threshold": 0.1}]),
    "best_float": ("float32", [(1, 20)], [{"do": "top_k", "k": 3, "softmax": True}]),
    "error": ("int8", [(1, 30)], [{"do": "mse"}]),
    "ssd": (
        "int8",
        [(1, 10, 8), (1, 10, 3)],
        [
            _BOXES | {"logits": True, "points": 2},
            {"do": "nms", "iou": 0.2, "average": True, "by_class": False},
        ],
    ),
    "ssd_float": (
        "float32",
        [(1, 10, 8), (1, 10, 3)],
        [
            _BOXES | {"logits": True, "points": 2},
            {"do": "nms", "iou": 0.2, "average": True, "by_class": False},
        ],
    ),
    "yolo": ("int8", [(1, 11, 30)], [_YOLO | {"objectness": True}, {"do": "nms"}]),
    "yolo_float": ("float32", [(1, 11, 30)], [_YOLO | {"objectness": True}, {"do": "nms"}]),
    "points": ("int8", [(1, 7, 3)], [{"do": "points", "score": 2, "logits": True}]),
    "points_float": ("float32", [(1, 7, 3)], [{"do": "points", "score": 2, "logits": True}]),
    "absent": ("int8", [(1, 7, 3), (1, 1)], [{"do": "points", "presence": 1, "threshold": 900}]),
    "mask": ("int8", [(1, 5, 7, 4)], [{"do": "mask"}]),
    "mask_planes": ("int8", [(1, 4, 5, 7)], [{"do": "mask", "planes": True, "channel": 2}]),
}


def _elementwise(shapes: list[tuple[int, ...]], dtype: str) -> Model:
    """Return a model with one operator per input, so that the outputs have the shapes and the type of the inputs."""
    b = GraphBuilder(np.random.default_rng(6))
    inputs = [b.input(shape, "int8", quant(0.05, 4)) for shape in shapes]
    for x, shape in zip(inputs, shapes, strict=True):
        if dtype == "float32":
            b.op("DEQUANTIZE", [x], [b.tensor(shape, "float32")], "DequantizeOptions")
        else:
            b.op("RELU", [x], [b.tensor(shape, "int8", quant(0.03, -100))])
    return b.build()


def processing_models() -> dict[str, tuple[Model, dict[str, Any]]]:
    """Return a model and the metadata with its pre- or postprocessing, by name."""
    models: dict[str, tuple[Model, dict[str, Any]]] = {}
    for name, record in _PICTURES.items():
        models[name] = _elementwise([(1, 12, 12, 3)], "int8"), {"preprocessing": record}
    for name, (record, shape) in _SOUNDS.items():
        models[name] = _elementwise([(1, *shape, 1)], "int8"), {"preprocessing": record}
    for name, (dtype, shapes, steps) in _ANSWERS.items():
        models[name] = _elementwise(shapes, dtype), {"postprocessing": {"steps": steps}}
    return models
