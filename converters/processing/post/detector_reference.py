"""Detect boxes with Python and NumPy: find the best class of each row, decode the rows with the best scores, and
suppress overlapping boxes.

A row holds the numbers of one possible box. A key is an integer that stands for a score, see ``tensor_values.keys``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from arenite.converters.processing.post.detector_plan import BoxesPlan
from arenite.converters.processing.post.tensor_values import (
    ANCHOR_BITS,
    INT32,
    REAL_BITS,
    exponential,
    floats_of_keys,
    keys,
    real_fixed_point,
    sigmoid,
)

#: The largest magnitude of a coordinate: 16 times the input's side.
MAX_COORDINATE = 16 << REAL_BITS


@dataclass(frozen=True)
class Box:
    """A detected box. Edges, and x and y of landmarks, are fractions of the input's sides with 16 fractional bits."""

    top: int
    left: int
    bottom: int
    right: int
    key: int  # the score
    index: int  # the class
    anchor: int  # the row of the outputs
    points: tuple[int, ...] = ()


def detect(plan: BoxesPlan, outputs: Sequence[np.ndarray]) -> list[Box]:
    """Return the boxes of one inference, best first. ``outputs`` has one array of stored values per output."""
    boxes, scores = (outputs[i].reshape(-1) for i in plan.outputs[:2])
    count = plan.count
    if plan.outputs[3] is not None:
        count = min(count, _integer(plan, outputs[plan.outputs[3]].reshape(-1)[0:1]))
    rows = np.arange(count)
    columns = np.arange(plan.first_class, plan.classes)[None]
    class_keys = keys(scores[plan.score.first + rows[:, None] * plan.score.step + columns * plan.score.field])
    best = class_keys.argmax(axis=1)
    key = class_keys[rows, best]
    best = best + plan.first_class
    if plan.object is not None:
        objects = keys(scores[plan.object.first + rows * plan.object.step])
        key = np.where(objects >= plan.least_object, _score_products(plan, objects, key), INT32[0] - 1)
    order = [int(i) for i in np.argsort(-key, kind="stable") if key[i] >= plan.least][: plan.candidates]
    candidates = []
    for i in order:
        index = int(best[i])
        if plan.label is not None and plan.outputs[2] is not None:
            labels = outputs[plan.outputs[2]].reshape(-1)
            index = _integer(plan, labels[plan.label.first + i * plan.label.step :][:1]) & 0xFFFF
        candidates.append(_decode(plan, boxes, i, int(key[i]), index))
    return _average_overlaps(plan, candidates) if plan.nms.average else _suppress_overlaps(plan, candidates)


def _suppress_overlaps(plan: BoxesPlan, candidates: list[Box]) -> list[Box]:
    """Return the boxes that do not overlap a better box. ``candidates`` are sorted, best first."""
    selected: list[Box] = []
    for box in candidates:
        if len(selected) == plan.nms.most:
            break
        if not any(_overlap(plan, box, other) for other in selected):
            selected.append(box)
    return selected


def _average_overlaps(plan: BoxesPlan, candidates: list[Box]) -> list[Box]:
    """Return the boxes that do not overlap a better box, each with the average coordinates of the boxes that it
    suppresses and itself. ``candidates`` are sorted, best first."""
    selected: list[Box] = []
    while candidates and len(selected) < plan.nms.most:
        best = candidates[0]
        same = [box for k, box in enumerate(candidates) if k == 0 or _overlap(plan, box, best)]
        candidates = [box for k, box in enumerate(candidates) if k and not _overlap(plan, box, best)]
        weights = [_weight(plan, box.key) for box in same]
        total = sum(weights)
        numbers = [
            (sum(w * v for w, v in zip(weights, column, strict=True)) + (total >> 1)) // total
            for column in zip(*((b.top, b.left, b.bottom, b.right, *b.points) for b in same), strict=True)
        ]
        top, left, bottom, right, *points = numbers
        selected.append(replace(best, top=top, left=left, bottom=bottom, right=right, points=tuple(points)))
    return selected


def _integer(plan: BoxesPlan, stored: np.ndarray) -> int:
    """Return a stored class or number of boxes, rounded to the nearest integer, at least 0."""
    return max((int(real_fixed_point(plan.numbers, stored, 1)[0]) + (1 << 15)) >> 16, 0)


def _score_products(plan: BoxesPlan, objects: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the products of class score and objectness as keys. For integers, a key is a quarter of the product of the
    stored values minus their zero point, so that it fits 32 bits."""
    if plan.numbers.dtype == "float32":
        with np.errstate(all="ignore"):
            return keys(floats_of_keys(objects) * floats_of_keys(scores))
    above = [np.maximum(v - plan.object_zero, 0) for v in (objects, scores)]
    return cast(np.ndarray, (above[0] * above[1]) >> 2)


def _weight(plan: BoxesPlan, key: int) -> int:
    """Return the score of ``key`` as a positive weight with ``REAL_BITS`` fractional bits."""
    stored = np.array([key])
    if plan.numbers.dtype == "float32":
        stored = floats_of_keys(stored)
    weight = int(real_fixed_point(plan.numbers, stored)[0])
    return min(max(sigmoid(weight) if plan.logits else weight, 1), MAX_COORDINATE)


def _decode(plan: BoxesPlan, boxes: np.ndarray, row: int, key: int, index: int) -> Box:
    """Return the box in ``row`` of the output ``boxes``. ``key`` is its score and ``index`` its class."""

    def number(field: int) -> np.ndarray:
        return boxes[plan.box.first + row * plan.box.step + field * plan.box.field :][:1]

    x = 0 if plan.x_first else 1
    spans = []
    for axis, (first, second) in enumerate(((1 - x, 3 - x), (x, 2 + x))):
        middle = int(real_fixed_point(plan.centres, number(first), axis)[0])
        size = int(real_fixed_point(plan.centres if plan.corners else plan.sizes, number(second), axis)[0])
        if plan.corners:
            start = _cut(middle, -MAX_COORDINATE)
            spans.append((start, _cut(size, start)))
            continue
        if plan.exponential:
            size = exponential(size)
        if plan.anchors is not None:
            size = (size * int(plan.anchors[row, 2 + axis])) >> ANCHOR_BITS
        size = _cut(size, 0)
        start = _cut(_absolute(plan, middle, row, axis), -MAX_COORDINATE) - (size >> 1)
        spans.append((start, start + size))
    points = []
    for k in range(plan.points):
        at = plan.point_first + k * plan.point_values
        for axis, field in ((1, x), (0, 1 - x)):
            value = int(real_fixed_point(plan.centres, number(at + field), axis)[0])
            points.append(_cut(_absolute(plan, value, row, axis), -MAX_COORDINATE))
    (top, bottom), (left, right) = spans
    return Box(top, left, bottom, right, key, index, row, tuple(points))


def _absolute(plan: BoxesPlan, middle: int, row: int, axis: int) -> int:
    """Convert the coordinate ``middle``, which is relative to the anchor of ``row``, to an absolute coordinate. Without
    anchors it is absolute already. ``axis`` is 0 for y and 1 for x."""
    if plan.anchors is None:
        return middle
    anchor, wide = int(plan.anchors[row, axis]), int(plan.anchors[row, 2 + axis])
    return ((middle * wide) >> ANCHOR_BITS) + (anchor << (REAL_BITS - ANCHOR_BITS))


def _cut(value: int, low: int) -> int:
    """Clip ``value`` to ``low`` ... ``MAX_COORDINATE``."""
    return min(max(value, low), MAX_COORDINATE)


def _overlap(plan: BoxesPlan, a: Box, b: Box) -> bool:
    """Return whether two boxes overlap by more than ``iou``. With ``by_class``, boxes of different classes never do."""
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    width = min(a.right, b.right) - max(a.left, b.left)
    if (plan.nms.by_class and a.index != b.index) or height <= 0 or width <= 0:
        return False
    both = height * width
    union = (a.bottom - a.top) * (a.right - a.left) + (b.bottom - b.top) * (b.right - b.left) - both
    # Shift right to 47 bits, so that the product with iou fits into 64 bits.
    return (both >> 1) << REAL_BITS > (union >> 1) * plan.iou
