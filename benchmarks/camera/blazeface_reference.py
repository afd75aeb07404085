"""BlazeFace's answers in plain NumPy, as examples on the web write them; what the camera loop does is not used here."""

from __future__ import annotations

import numpy as np

SIZE = 128


def short_range() -> np.ndarray:
    """float32 [896, 2]: the middle of each anchor in parts of the picture; 2 on each of 16x16 cells, 6 on 8x8."""
    rows = []
    for cells, each in ((16, 2), (8, 6)):
        middle = (np.arange(cells) + 0.5) / cells
        y, x = np.meshgrid(middle, middle, indexing="ij")
        rows.append(np.repeat(np.stack([x.ravel(), y.ravel()], 1), each, axis=0))
    return np.concatenate(rows).astype(np.float32)


def decode(raw: np.ndarray, logits: np.ndarray, anchors: np.ndarray, least: float) -> list[np.ndarray]:
    """Faces, best first, each float32 [5]: left, top, right, bottom in parts of the input, score.

    ``raw``: [896, 16]; ``logits``: [896]. Overlapping boxes (IoU above 0.3) of lower score are left out.
    """
    scores = 1 / (1 + np.exp(-logits.clip(-80, 80)))
    kept = np.flatnonzero(scores >= least)
    kept = kept[np.argsort(-scores[kept], kind="stable")]
    middle = raw[kept, 0:2] / SIZE + anchors[kept]
    half = raw[kept, 2:4] / SIZE / 2
    boxes = np.concatenate([middle - half, middle + half, scores[kept, None]], 1)
    faces: list[np.ndarray] = []
    for box in boxes:
        if all(overlap(box, other) <= 0.3 for other in faces):
            faces.append(box)
    return faces


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union of two boxes: left, top, right, bottom."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return float(both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both))
