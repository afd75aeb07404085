"""The answer to a frame: classes, boxes, points, a mask, a score or values. Coordinates are fractions of the frame, 0
to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Class:
    """One class with its score. ``label`` is empty if the model has no label for it."""

    index: int
    label: str
    score: float

    def to_json(self) -> dict[str, Any]:
        return {"index": self.index, "label": self.label, "score": self.score}


@dataclass(frozen=True, slots=True)
class Box:
    """One detected object. ``index`` and ``label`` name its class, and ``points`` has its landmarks as (x, y).
    All coordinates are fractions of the frame."""

    left: float
    top: float
    right: float
    bottom: float
    score: float
    index: int = 0
    label: str = ""
    points: tuple[tuple[float, float], ...] = ()

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "box": [self.left, self.top, self.right, self.bottom],
            "score": self.score,
            "index": self.index,
            "label": self.label,
        }
        if self.points:
            record["points"] = [list(point) for point in self.points]
        return record


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one frame. ``mask`` has the class index of each pixel, uint8, shape (height, width). It covers the
    rectangle ``mask_box`` (left, top, right, bottom) of the frame. ``score`` is the score of all points together, or
    the only number of the answer (such as an anomaly score). ``values`` has the first numbers of an output without
    postprocessing."""

    kind: str  # the field that has the answer: classes, boxes, points, mask, score, values
    classes: tuple[Class, ...] = ()
    boxes: tuple[Box, ...] = ()
    points: tuple[tuple[float, float, float], ...] = ()  # x, y, score
    mask: np.ndarray | None = None
    mask_box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    score: float | None = None
    values: tuple[float, ...] = ()

    @property
    def confidence(self) -> float:
        """The score of the best class or box, else ``score``; 0 if there is none."""
        if self.classes:
            return self.classes[0].score
        if self.boxes:
            return self.boxes[0].score
        return self.score or 0.0

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"kind": self.kind}
        for name in ("classes", "boxes"):
            if getattr(self, name):
                record[name] = [entry.to_json() for entry in getattr(self, name)]
        if self.points:
            record["points"] = [list(point) for point in self.points]
        if self.mask is not None:
            indices, counts = np.unique(self.mask, return_counts=True)
            record["mask"] = {
                "box": list(self.mask_box),
                "shape": list(self.mask.shape),
                "pixels": {str(i): int(n) for i, n in zip(indices, counts, strict=True)},
            }
        if self.score is not None:
            record["score"] = _finite_or_none(self.score)
        if self.values:
            record["values"] = [_finite_or_none(value) for value in self.values]
        return record


def _finite_or_none(value: float) -> float | None:
    """Return ``value``, or None for infinity and NaN, which JSON does not have."""
    return value if math.isfinite(value) else None
