"""Decode BlazeFace's outputs with plain NumPy, independently of the camera loop's code."""

from __future__ import annotations

import numpy as np

#: The side of the model's input in pixels.
SIZE = 128


def short_range() -> np.ndarray:
    """Return the centers (x, y) of the anchors of BlazeFace's short-range model as fractions of the picture, float32
    [896, 2]: 2 anchors for each of 16x16 cells, then 6 anchors for each of 8x8 cells."""
    rows = []
    for cells, each in ((16, 2), (8, 6)):
        middle = (np.arange(cells) + 0.5) / cells
        y, x = np.meshgrid(middle, middle, indexing="ij")
        rows.append(np.repeat(np.stack([x.ravel(), y.ravel()], 1), each, axis=0))
    return np.concatenate(rows).astype(np.float32)


def decode(raw: np.ndarray, logits: np.ndarray, anchors: np.ndarray, min_score: float) -> list[np.ndarray]:
    """Return the faces with at least ``min_score``, the best face first. Each is float32 [5]: left, top, right and
    bottom as fractions of the input, and the score.

    ``raw`` has the boxes [896, 16], ``logits`` the logits of the scores [896]. Boxes that overlap a better box
    (intersection over union above 0.3) are left out.
    """
    scores = 1 / (1 + np.exp(-logits.clip(-80, 80)))
    indices = np.flatnonzero(scores >= min_score)
    indices = indices[np.argsort(-scores[indices], kind="stable")]
    middle = raw[indices, 0:2] / SIZE + anchors[indices]
    half = raw[indices, 2:4] / SIZE / 2
    boxes = np.concatenate([middle - half, middle + half, scores[indices, None]], 1)
    faces: list[np.ndarray] = []
    for box in boxes:
        if all(overlap(box, other) <= 0.3 for other in faces):
            faces.append(box)
    return faces


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Return the intersection over union of two boxes (left, top, right, bottom)."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return float(shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared))
