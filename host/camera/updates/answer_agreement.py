"""How well the answers of two models to the same frame agree, from 0 (not at all) to 1 (the same answer)."""

from __future__ import annotations

import math

import numpy as np

from arenite.host.camera.answers.answer import Answer, Box

#: Two boxes show the same object if their intersection over union is at least this.
MIN_OVERLAP = 0.5
#: Two points are at the same place if they are at most this fraction of the frame apart.
MAX_DISTANCE = 0.05
#: Two scores agree if they differ by at most this, or by this share of the larger one.
MAX_DIFFERENCE = 0.1


def agreement(first: Answer, second: Answer) -> float:
    """Return the agreement of two answers. It is symmetric.

    - classes: 1 if the best class is the same.
    - boxes: 2 × the number of pairs of boxes of the same class that overlap, divided by the number of boxes; 1 if both
      answers have none.
    - points: the share of points that are at the same place.
    - mask: the share of pixels with the same class; the smaller mask is enlarged.
    - score: 1 if the scores agree.
    - values: the cosine of the angle between the two vectors, at least 0.
    """
    if first.kind != second.kind:
        return 0.0
    if first.kind == "classes":
        return float(_class(first) == _class(second))
    if first.kind == "boxes":
        return _boxes(first.boxes, second.boxes)
    if first.kind == "points":
        return _points(first.points, second.points)
    if first.kind == "mask":
        return _masks(first.mask, second.mask)
    if first.kind == "score":
        return float(_close(first.score or 0.0, second.score or 0.0))
    return _cosine(first.values, second.values)


def _class(answer: Answer) -> tuple[int, str] | str | None:
    """Return the best class: its label, or its number if it has no label."""
    if not answer.classes:
        return None
    best = answer.classes[0]
    return best.label or (best.index, "")


def _boxes(first: tuple[Box, ...], second: tuple[Box, ...]) -> float:
    if not first and not second:
        return 1.0
    pairs = sorted(
        (
            (overlap, i, j)
            for i, a in enumerate(first)
            for j, b in enumerate(second)
            if (a.label or a.index) == (b.label or b.index) and (overlap := _overlap(a, b)) >= MIN_OVERLAP
        ),
        reverse=True,
    )
    left, right = set[int](), set[int]()
    for _, i, j in pairs:
        if i not in left and j not in right:
            left.add(i)
            right.add(j)
    return 2 * len(left) / (len(first) + len(second))


def _overlap(a: Box, b: Box) -> float:
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    if width <= 0 or height <= 0:
        return 0.0
    areas = sum((box.right - box.left) * (box.bottom - box.top) for box in (a, b))
    return width * height / (areas - width * height)


def _points(
    first: tuple[tuple[float, float, float], ...], second: tuple[tuple[float, float, float], ...]
) -> float:
    count = max(len(first), len(second))
    near = sum(math.dist(a[:2], b[:2]) <= MAX_DISTANCE for a, b in zip(first, second, strict=False))
    return near / count if count else 1.0


def _masks(first: np.ndarray | None, second: np.ndarray | None) -> float:
    if first is None or second is None:
        return float(first is second)
    height, width = (max(a, b) for a, b in zip(first.shape, second.shape, strict=True))
    masks = [
        mask[np.arange(height) * mask.shape[0] // height][:, np.arange(width) * mask.shape[1] // width]
        for mask in (first, second)
    ]
    return float((masks[0] == masks[1]).mean())


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= MAX_DIFFERENCE * max(1.0, abs(a), abs(b))


def _cosine(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    if len(first) != len(second):
        return 0.0
    a, b = np.array(first, np.float64), np.array(second, np.float64)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    if lengths == 0.0 or not math.isfinite(lengths):
        return float(np.array_equal(a, b))
    return max(0.0, float(a @ b) / lengths)
