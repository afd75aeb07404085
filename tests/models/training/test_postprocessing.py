"""Tests that the postprocessing recorded in a model gives the same boxes as the decoder used for the score."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.converters.processing.post.plan import plan_post
from arenite.converters.processing.post.reference import Box, postprocess
from arenite.models.architectures import network
from arenite.models.architectures.anchors import anchors
from arenite.models.datasets.training_data import DETECT, TrainingData, TrainingSettings
from arenite.models.training.detection import detections
from arenite.models.training.postprocessing import MIN_REPORTED_SCORE, postprocessing


def _data(task: str, shape: tuple[int, ...]) -> TrainingData:
    """Return training data without samples, with the labels a, b and c."""
    none = np.zeros((0, *shape), np.float32)
    return TrainingData("n", "t", task, none, none, none, none, tuple("abc"), "", TrainingSettings(1))


def test_boxes_equal_those_of_the_score() -> None:
    shape = (48, 64, 1)
    net = network("detector", shape, 3, 0.5)
    all_anchors = anchors(shape)
    n = len(all_anchors)
    outputs = [Tensor(1, "boxes", (1, n, 4), "float32"), Tensor(2, "scores", (1, n, 3), "float32")]
    plan = plan_post(
        postprocessing(net, _data(DETECT, shape)), [Tensor(0, "x", (1, *shape), "float32")], outputs
    )
    rng = np.random.default_rng(0)
    count = 0
    for _ in range(20):
        offsets = rng.normal(0, 2, (n, 4)).astype(np.float32)
        scores = (rng.random((n, 3)) ** 12).astype(np.float32)
        expected = [row for row in detections(offsets, scores, all_anchors) if row[1] >= MIN_REPORTED_SCORE]
        answer = postprocess(plan, [np.zeros((1, *shape), np.float32)], [offsets[None], scores[None]])
        assert isinstance(answer, list)
        boxes = [b for b in answer if isinstance(b, Box)]
        assert [b.index for b in boxes] == [int(row[0]) for row in expected]
        edges = np.array([(b.top, b.left, b.bottom, b.right) for b in boxes]).reshape(-1, 4) / 65536
        assert np.allclose(edges, np.array([row[2:] for row in expected]).reshape(-1, 4), atol=2e-3)
        count += len(boxes)
    assert count > 50


def test_classifiers_record_top_k_and_autoencoders_mse() -> None:
    classify = postprocessing(network("dscnn", (8, 8, 1), 3), _data("classify", (8, 8, 1)))
    assert classify.to_json()["steps"] == [{"do": "top_k"}]
    reconstruct = postprocessing(network("autoencoder", (8,), 0), _data("reconstruct", (8,)))
    assert reconstruct.to_json()["steps"] == [{"do": "mse"}]
