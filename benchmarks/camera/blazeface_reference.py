"""Decode BlazeFace's outputs in plain NumPy, independent of the camera loop's code."""

from __future__ import annotations

import numpy as np

SIZE = 128


def short_range() -> np.ndarray:
    """Return the centers of all anchors as fractions of the picture, float32 [896, 2]: 2 for each of 16x16 cells, then
    6 for each of 8x8 cells."""
    rows = []
    for cells, each in ((16, 2), (8, 6)):
        middle = (np.arange(cells) + 0.5) / cells
        y, x = np.meshgrid(middle, middle, indexing="ij")
        rows.append(np.repeat(np.stack([x.ravel(), y.ravel()], 1), each, axis=0))
    return np.concatenate(rows).astype(np.float32)


def decode(raw: np.ndarray, logits: np.ndarray, anchors: np.ndarray, min_score: float) -> list[np.ndarray]:
    """Return the faces, best first, each float32 [5]: left, top, right and bottom as fractions of the input, and score.

    ``raw`` has the shape [896, 16], ``logits`` [896]. Boxes that overlap a better one (IoU above 0.3) are left out.
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
