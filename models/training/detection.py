"""Targets and score of the detector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.models.architectures.anchors import anchors, decode, encode, overlap
from arenite.models.architectures.network import Network
from arenite.models.datasets.training_data import TrainingData

#: Overlap below which an anchor learns background, and from which on it learns the object; between them, neither.
POSITIVE, NEGATIVE = 0.45, 0.35

#: Decoding: the smallest probability, the largest overlap of two boxes of a class, and the largest number of boxes.
MIN_DETECTION_SCORE, MAX_BOX_OVERLAP, MAX_DETECTIONS = 0.05, 0.5, 20

#: Overlap with an object from which on a box counts as right.
CORRECT_OVERLAP = 0.5


def encoded(network: Network, objects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``objects`` (samples, most, 5) as targets: (samples, anchors, 5), 1 and the offsets where an anchor has an
    object, and (samples, anchors, classes), -1 where an anchor is to learn neither."""
    around = anchors(network.input_shape)
    corners = decode(np.zeros_like(around), around)
    boxes = np.zeros((len(objects), len(around), 5), np.float32)
    scores = np.zeros((len(objects), len(around), network.classes), np.float32)
    for n, scene in enumerate(objects):
        real = scene[scene[:, 0] >= 0]
        if not len(real):
            continue
        shared = overlap(corners, real[:, 1:])
        nearest, most = shared.argmax(1), shared.max(1)
        best = shared.argmax(0)  # every object has one anchor at least
        nearest[best], most[best] = np.arange(len(real)), 1.0
        positive = most >= POSITIVE
        scores[n, (most >= NEGATIVE) & ~positive] = -1.0
        scores[n, positive, real[nearest[positive], 0].astype(int)] = 1.0
        boxes[n, positive, 0] = 1.0
        boxes[n, positive, 1:] = encode(real[nearest[positive], 1:], around[positive])
    return boxes, scores


def detections(offsets: np.ndarray, scores: np.ndarray, around: np.ndarray) -> np.ndarray:
    """The boxes of one picture as rows of class, score, top, left, bottom, right, best first.

    Each anchor has the class of its largest score; the best of boxes of one class that overlap too much stays.
    """
    kind, score = scores.argmax(-1), scores.max(-1)
    order = np.argsort(-score, kind="stable")
    order = order[score[order] >= MIN_DETECTION_SCORE][: MAX_DETECTIONS * 10]
    boxes = decode(offsets[order], around[order])
    shared = overlap(boxes, boxes)
    kept: list[int] = []
    for i in range(len(order)):
        if all(kind[order[i]] != kind[order[k]] or shared[i, k] <= MAX_BOX_OVERLAP for k in kept):
            kept.append(i)
        if len(kept) == MAX_DETECTIONS:
            break
    chosen = order[kept]
    return np.concatenate([kind[chosen, None], score[chosen, None], boxes[kept]], -1).astype(np.float32)


def mean_average_precision(
    network: Network, data: TrainingData, outputs: Sequence[np.ndarray]
) -> tuple[float, list[float]]:
    """The mean over classes of the area under the precision-recall curve, and the area of each class, at an overlap of
    ``CORRECT_OVERLAP``."""
    around = anchors(network.input_shape)
    boxes = [detections(o, s, around) for o, s in zip(*outputs, strict=True)]
    per_class = [average_precision(boxes, data.y_test, c) for c in range(network.classes)]
    return float(np.nanmean(per_class)), per_class


def average_precision(detected: Sequence[np.ndarray], objects: np.ndarray, kind: int) -> float:
    """The average precision of class ``kind``: a box, best first, is right if it overlaps an object without a better
    box.

    The precision at each recall is the best at that recall or beyond, as in PASCAL VOC from 2010 on. NaN without
    objects.
    """
    rows: list[tuple[float, bool]] = []
    count = 0
    for boxes, truth in zip(detected, objects, strict=True):
        real = truth[truth[:, 0] == kind]
        mine = boxes[boxes[:, 0] == kind]
        count += len(real)
        matched = np.zeros(len(real), bool)
        shared = overlap(mine[:, 2:], real[:, 1:])
        for k, box in enumerate(mine):
            free = np.where(matched, 0.0, shared[k])
            hit = len(real) > 0 and bool(free.max() >= CORRECT_OVERLAP)
            if hit:
                matched[free.argmax()] = True
            rows.append((float(box[1]), hit))
    if count == 0:
        return float("nan")
    right = np.array([r for _, r in sorted(rows, key=lambda row: -row[0])], np.float64)
    hits = np.cumsum(right)
    precision = hits / np.arange(1, len(right) + 1)
    best = np.maximum.accumulate(precision[::-1])[::-1]
    return float((best * right).sum() / count)
