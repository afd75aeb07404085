"""Top-1, AUC and anomaly scores agree with their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.mlperf.score import anomaly_score, auc, mean_per_recording
from arenite.host.mlperf.tasks import TASKS, task_named


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40))
def test_the_auc_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[int, bool]]) -> None:
    scores, labels = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows], int)
    pairs = [(a > b) + (a == b) / 2 for a in scores[labels == 1] for b in scores[labels == 0]]
    if not pairs:
        with pytest.raises(UsageError, match="of class 0"):
            auc(scores, labels)
        return
    assert auc(scores, labels) == pytest.approx(sum(pairs) / len(pairs))


def test_a_third_class_raises_an_error() -> None:
    with pytest.raises(UsageError, match="Of 3 samples, 1 have class 0 and 1 have class 1"):
        auc(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2]))


def test_windows_of_a_recording_are_averaged() -> None:
    scores, first_indices = mean_per_recording([1.0, 3.0, 5.0, 8.0], np.array(["b", "b", "a", "b"]))
    assert scores.tolist() == [5.0, 4.0]  # the mean scores of the recordings a and b
    assert first_indices.tolist() == [2, 0]
    unchanged, indices = mean_per_recording([2.0, 1.0], None)
    assert (unchanged.tolist(), indices.tolist()) == ([2.0, 1.0], [0, 1])


def test_the_anomaly_score_is_the_mean_squared_error() -> None:
    assert anomaly_score(np.array([[1.0, 2.0]]), np.array([0.0, 4.0])) == 2.5
    with pytest.raises(UsageError, match="not an autoencoder"):
        anomaly_score(np.zeros(4), np.zeros(3))


def test_the_lowest_scores_allowed_are_those_of_the_mlperf_rules() -> None:
    floors = {name: task.floor for name, task in TASKS.items()}
    assert floors == {"kws01": 0.90, "vww01": 0.80, "ic01": 0.85, "ad01": 0.85, "sww01": None}
    with pytest.raises(UsageError, match="no task 'kws02'"):
        task_named("kws02")
