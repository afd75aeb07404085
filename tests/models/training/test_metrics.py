"""Tests of the metrics against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.models.training.detection import average_precision, detections
from arenite.models.training.metrics import accuracy, accuracy_per_class, reconstruction_errors, roc_auc


def test_accuracy_in_total_and_per_class() -> None:
    outputs = np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.5, 0.4, 0.1], [0.1, 0.8, 0.1]])
    labels = np.array([0, 1, 1, 1])
    assert accuracy(outputs, labels) == 0.75
    first, second, third = accuracy_per_class(outputs, labels)
    assert (first, second) == (1.0, pytest.approx(2 / 3))
    assert np.isnan(third)


@pytest.mark.parametrize("seed", range(5))
def test_roc_auc_is_the_share_of_pairs_in_the_right_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, 40).astype(float)  # with ties
    positive = rng.random(40) < 0.3
    pairs = [(p > n) + 0.5 * (p == n) for p in scores[positive] for n in scores[~positive]]
    assert roc_auc(scores, positive) == pytest.approx(np.mean(pairs))


def test_roc_auc_is_undefined_if_all_labels_are_equal() -> None:
    assert np.isnan(roc_auc(np.arange(3.0), np.zeros(3)))


def test_reconstruction_errors_are_per_sample() -> None:
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2, 1)
    errors = reconstruction_errors(x, x.reshape(2, 6) + np.array([[1.0], [2.0]]))
    assert errors.tolist() == [1.0, 4.0]


def _objects(*rows: tuple[float, ...]) -> np.ndarray:
    """Return rows of objects (class, box) or of boxes (class, score, box) as float32."""
    return np.array(rows, np.float32)


def test_average_precision_of_a_known_case() -> None:
    """There are two objects and three boxes. In the order of their scores, the boxes are correct, a duplicate and
    correct, so the precisions are 1, 1/2 and 2/3."""
    one, two = (0.0, 0.0, 0.2, 0.2), (0.5, 0.5, 0.7, 0.7)
    truth = _objects((0, *one), (0, *two), (-1, -1, -1, -1, -1))
    boxes = _objects((0, 0.9, *one), (0, 0.8, *one), (0, 0.7, *two))
    assert average_precision([boxes], truth[None], 0) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([boxes[:1]], truth[None], 0) == 0.5
    assert average_precision([boxes[:0]], truth[None], 0) == 0.0
    assert np.isnan(average_precision([boxes], truth[None], 1))


def test_detections_keep_the_best_of_overlapping_boxes() -> None:
    anchors = np.array([[0.5, 0.5, 0.4, 0.4], [0.5, 0.52, 0.4, 0.4], [0.2, 0.2, 0.2, 0.2]], np.float32)
    scores = np.array([[0.8, 0.0], [0.9, 0.0], [0.0, 0.6]], np.float32)
    boxes = detections(np.zeros((3, 4), np.float32), scores, anchors)
    assert boxes[:, 0].tolist() == [0, 1]
    assert np.allclose(boxes[:, 1], (0.9, 0.6))
    assert np.allclose(boxes[0, 2:], (0.3, 0.32, 0.7, 0.72))
