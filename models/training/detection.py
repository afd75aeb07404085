"""Compute the training targets and the score of the detector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.models.architectures.anchors import anchors, decode, encode, iou
from arenite.models.architectures.network import Network
from arenite.models.datasets.training_data import TrainingData

#: An anchor learns an object if their overlap (intersection over union) is at least ``OBJECT_OVERLAP``. It learns the
#: background if its overlap with all objects is below ``BACKGROUND_OVERLAP``. Otherwise it learns neither.
OBJECT_OVERLAP, BACKGROUND_OVERLAP = 0.45, 0.35

#: Limits for the boxes of a picture: the minimum score, the maximum overlap of two boxes of the same class, and the
#: maximum number of boxes.
MIN_DETECTION_SCORE, MAX_BOX_OVERLAP, MAX_DETECTIONS = 0.05, 0.5, 20

#: A box is correct if its intersection over union with an object is at least this value.
CORRECT_OVERLAP = 0.5


def encode_targets(network: Network, objects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the targets of the network's two outputs for ``objects``, an array of shape (samples, objects, 5) as
    ``TrainingData`` describes it.

    The first target has the shape (samples, anchors, 5): 1 and the four offsets for an anchor that learns an object,
    five zeros for other anchors. The second target has the shape (samples, anchors, classes): 1 for the class of the
    object, -1 for all classes if the anchor learns neither an object nor the background, and 0 otherwise.
    """
    anchor_boxes = anchors(network.input_shape)
    corners = decode(np.zeros_like(anchor_boxes), anchor_boxes)
    boxes = np.zeros((len(objects), len(anchor_boxes), 5), np.float32)
    scores = np.zeros((len(objects), len(anchor_boxes), network.classes), np.float32)
    for n, scene in enumerate(objects):
        present = scene[scene[:, 0] >= 0]
        if not len(present):
            continue
        overlaps = iou(corners, present[:, 1:])
        nearest, best_overlap = overlaps.argmax(1), overlaps.max(1)
        best_anchor = overlaps.argmax(0)  # at least one anchor learns each object
        nearest[best_anchor], best_overlap[best_anchor] = np.arange(len(present)), 1.0
        positive = best_overlap >= OBJECT_OVERLAP
        scores[n, (best_overlap >= BACKGROUND_OVERLAP) & ~positive] = -1.0
        scores[n, positive, present[nearest[positive], 0].astype(int)] = 1.0
        boxes[n, positive, 0] = 1.0
        boxes[n, positive, 1:] = encode(present[nearest[positive], 1:], anchor_boxes[positive])
    return boxes, scores


def detections(offsets: np.ndarray, scores: np.ndarray, anchor_boxes: np.ndarray) -> np.ndarray:
    """Return the boxes of one picture, an array with a row (class, score, top, left, bottom, right) for each box,
    sorted by score.

    ``offsets`` (anchors, 4) and ``scores`` (anchors, classes) are the network's outputs. Each anchor has the class
    with the largest score. If boxes of the same class overlap too much, only the box with the highest score is kept.
    """
    class_numbers, score = scores.argmax(-1), scores.max(-1)
    order = np.argsort(-score, kind="stable")
    # Boxes that overlap a better box are left out below, so more candidates are needed.
    order = order[score[order] >= MIN_DETECTION_SCORE][: MAX_DETECTIONS * 10]
    boxes = decode(offsets[order], anchor_boxes[order])
    overlaps = iou(boxes, boxes)
    kept_positions: list[int] = []
    for i in range(len(order)):
        if all(
            class_numbers[order[i]] != class_numbers[order[k]] or overlaps[i, k] <= MAX_BOX_OVERLAP
            for k in kept_positions
        ):
            kept_positions.append(i)
        if len(kept_positions) == MAX_DETECTIONS:
            break
    kept_anchors = order[kept_positions]
    return np.concatenate(
        [class_numbers[kept_anchors, None], score[kept_anchors, None], boxes[kept_positions]], -1
    ).astype(np.float32)


def mean_average_precision(
    network: Network, data: TrainingData, outputs: Sequence[np.ndarray]
) -> tuple[float, list[float]]:
    """Return the mean average precision over the classes, and the average precision of each class (the area under its
    precision-recall curve).

    ``outputs`` are the network's two outputs for all test samples. A box is correct as ``CORRECT_OVERLAP`` says.
    """
    anchor_boxes = anchors(network.input_shape)
    boxes = [detections(o, s, anchor_boxes) for o, s in zip(*outputs, strict=True)]
    per_class = [average_precision(boxes, data.y_test, c) for c in range(network.classes)]
    return float(np.nanmean(per_class)), per_class


def average_precision(detected: Sequence[np.ndarray], objects: np.ndarray, class_number: int) -> float:
    """Return the average precision of class ``class_number``, or NaN if there are no objects of this class.

    ``detected`` has the rows of ``detections`` for each picture, ``objects`` the objects of each picture as
    ``TrainingData`` describes them. A box is correct if it overlaps an object that no box with a higher score has
    matched. The precision at a recall is the highest precision at this or a higher recall, as in PASCAL VOC since 2010.
    """
    rows: list[tuple[float, bool]] = []
    count = 0
    for boxes, truth in zip(detected, objects, strict=True):
        present = truth[truth[:, 0] == class_number]
        class_boxes = boxes[boxes[:, 0] == class_number]
        count += len(present)
        matched = np.zeros(len(present), bool)
        overlaps = iou(class_boxes[:, 2:], present[:, 1:])
        for k, box in enumerate(class_boxes):
            free_overlaps = np.where(matched, 0.0, overlaps[k])
            is_correct = len(present) > 0 and bool(free_overlaps.max() >= CORRECT_OVERLAP)
            if is_correct:
                matched[free_overlaps.argmax()] = True
            rows.append((float(box[1]), is_correct))
    if count == 0:
        return float("nan")
    correct = np.array([r for _, r in sorted(rows, key=lambda row: -row[0])], np.float64)
    correct_count = np.cumsum(correct)
    precision = correct_count / np.arange(1, len(correct) + 1)
    best_precision = np.maximum.accumulate(precision[::-1])[::-1]
    return float((best_precision * correct).sum() / count)
