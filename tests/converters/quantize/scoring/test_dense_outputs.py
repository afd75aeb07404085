"""Dense outputs, such as segmentations and depth maps, are scored position by position. Real values are scored by R²,
the coefficient of determination."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.quantize.scoring.decisions import decide, probability_axis
from arenite.converters.quantize.scoring.score import default_metric, ignored_labels_note, score_outputs
from arenite.errors import UsageError
from tests.converters.quantize.trained_models import dataset

#: Three samples, whose values do not matter.
X = np.zeros((3, 2), np.float32)


def softmax_maps(seed: int, shape: tuple[int, ...] = (1, 4, 5, 3)) -> list[np.ndarray]:
    """Return three random maps of probabilities over the last axis."""
    values = np.exp(np.random.default_rng(seed).normal(size=(3, *shape)))
    return list((values / values.sum(axis=-1, keepdims=True)).astype(np.float32))


def test_probabilities_agree_by_position() -> None:
    reference, outputs = softmax_maps(0), softmax_maps(0)
    outputs[0][0, 1, 2] = np.roll(outputs[0][0, 1, 2], 1)  # another class at one of 20 positions
    data = dataset(X, None)
    assert default_metric(reference, data) == "agreement"
    result = score_outputs(outputs, data, reference=reference)
    assert result.value == pytest.approx(1 - 1 / 60) and result.samples == 3


def test_the_axis_of_probabilities_is_found_in_channels_first_maps() -> None:
    reference = [np.ascontiguousarray(np.moveaxis(m, -1, 1)) for m in softmax_maps(0)]
    assert probability_axis(reference) == 1 and decide(reference).shape == (3, 20)
    assert np.array_equal(decide(reference), decide(softmax_maps(0)))


def test_labels_can_be_a_map_of_classes() -> None:
    outputs = softmax_maps(1)
    labels = np.stack([o[0].argmax(axis=-1) for o in outputs])
    labels[2, 0, :2] = (labels[2, 0, :2] + 1) % 3
    for y in (labels, labels[..., None], labels.astype(np.uint8)):
        result = score_outputs(outputs, dataset(X, y))
        assert result.metric == "accuracy" and result.value == pytest.approx(1 - 2 / 60)
        assert result.per_class == {} and ignored_labels_note(outputs, dataset(X, y), result.metric) is None


def test_masks_are_compared_with_the_threshold() -> None:
    outputs = [np.full((1, 2, 2, 1), v, np.float32) for v in (0.1, 0.9, 0.9)]
    labels = np.stack([np.full((2, 2, 1), k) for k in (0, 1, 0)])
    result = score_outputs(outputs, dataset(X, labels))
    assert result.metric == "accuracy" and result.value == pytest.approx(2 / 3)


def test_values_are_scored_by_r2() -> None:
    rng = np.random.default_rng(2)
    reference = list(rng.normal(size=(3, 1, 4, 4, 2)).astype(np.float32))
    outputs = [r + np.float32(0.1) * rng.normal(size=r.shape).astype(np.float32) for r in reference]
    data = dataset(X, None)
    result = score_outputs(outputs, data, reference=reference)
    rows, expected = (np.concatenate([v.reshape(-1, 2) for v in values]) for values in (outputs, reference))
    assert result.metric == "r2"
    assert result.value == pytest.approx(
        1 - np.sum((rows - expected) ** 2) / np.sum(48 * expected.var(axis=0))
    )
    assert score_outputs(reference, data, reference=reference).value == 1
    one_value = [np.full((1, 1), v, np.float32) for v in (1, 2, 3)]
    assert default_metric(one_value, data) == "r2"
    targets = dataset(X, np.array([[1.5], [2.5], [4.0]], np.float32))
    expected_r2 = 1 - 1.5 / (3 * np.var([1.5, 2.5, 4]))
    assert score_outputs(one_value, targets, "r2").value == pytest.approx(expected_r2)


def test_integer_outputs_are_classes() -> None:
    outputs = [np.array([k], np.int32) for k in (4, 5, 6)]
    assert score_outputs(outputs, dataset(X, np.array([4, 5, 0])), "accuracy").value == pytest.approx(2 / 3)
    maps = [np.arange(6).reshape(1, 2, 3) + k for k in range(3)]
    assert default_metric(maps, dataset(X, None)) == "agreement"
    assert score_outputs(maps, dataset(X, None), reference=[maps[0]] * 3).value == pytest.approx(1 / 3)


def test_one_label_per_sample_is_not_used_for_a_dense_output() -> None:
    outputs, data = softmax_maps(3), dataset(X, np.array([0, 1, 2]))
    metric = default_metric(outputs, data)
    note = ignored_labels_note(outputs, data, metric)
    assert metric == "agreement" and note is not None and "1 value per sample" in note
    with pytest.raises(UsageError, match="one class per sample"):
        score_outputs(outputs, data, "accuracy")
