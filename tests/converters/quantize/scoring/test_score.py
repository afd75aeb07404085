"""Metrics agree with their definitions, and models are scored on real labeled data."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.importers.load import load_any
from arenite.converters.quantize.dataset.dataset import Dataset, load_dataset
from arenite.converters.quantize.scoring.metrics import auc, largest_drops, metric_drop
from arenite.converters.quantize.scoring.model_runner import RealValueRunner, quantize_values, run_dataset
from arenite.converters.quantize.scoring.score import (
    default_metric,
    ignored_labels_note,
    score,
    score_outputs,
)
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import ModelError, UsageError
from tests.converters.small_models import conv_net
from tests.development_models import SHARED, shared_model
from tests.example_count import example_count


def dataset(inputs: np.ndarray, labels: np.ndarray | None, **slices: np.ndarray) -> Dataset:
    """Return a data set with one sample per row of ``inputs``."""
    return Dataset([[x[None]] for x in inputs], labels, slices, "00" * 32, Path("made.npz"))


def rows(*values: list[float]) -> list[np.ndarray]:
    """Return one output array [1, n] per list of values."""
    return [np.array([v], np.float32) for v in values]


def test_accuracy_is_computed_per_class_and_per_slice() -> None:
    data = dataset(np.zeros((4, 3)), np.array([0, 1, 1, 1]), room=np.array(["a", "a", "b", "b"]))
    result = score_outputs(rows([0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9]), data, "accuracy")
    assert (
        result.value == 0.75
        and result.samples == 4
        # the 95 % confidence interval of a share of 0.75 in 4 samples
        and result.margin == pytest.approx(1.96 * (0.75 * 0.25 / 4) ** 0.5)
    )
    assert result.per_class["0"].value == 1 and result.per_class["1"].value == pytest.approx(2 / 3)
    assert result.slices["room"]["a"].value == 1 and result.slices["room"]["b"].value == 0.5
    assert result.to_json()["slices"]["room"]["b"] == {"value": 0.5, "samples": 2}


def test_the_largest_drop_comes_first() -> None:
    data = dataset(np.zeros((20, 3)), np.repeat([0, 1], 10))
    before = score_outputs(rows(*[[0.9, 0.1]] * 10, *[[0.1, 0.9]] * 10), data)
    after = score_outputs(rows(*[[0.9, 0.1]] * 10, *[[0.1, 0.9]] * 6, *[[0.9, 0.1]] * 4), data)
    worst = largest_drops(before, after)
    assert worst[0].what == "class 1" and worst[0].drop == pytest.approx(0.4) and worst[-1].drop == 0
    assert metric_drop(before, after) == pytest.approx(0.2)


@settings(max_examples=example_count(50), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30))
def test_auc_is_the_share_of_pairs_in_which_the_positive_sample_has_the_higher_score(
    pairs: list[tuple[int, bool]],
) -> None:
    scores = np.array([s for s, _ in pairs], float)
    positive = np.array([p for _, p in pairs])
    high, low = scores[positive], scores[~positive]
    if not len(high) or not len(low):
        assert np.isnan(auc(scores, positive))
        return
    ordered = (high[:, None] > low).mean() + 0.5 * (high[:, None] == low).mean()
    assert auc(scores, positive) == pytest.approx(ordered)


def test_auc_of_an_auto_encoder_uses_its_reconstruction_error() -> None:
    data = dataset(np.array([[1, 1], [2, 2], [3, 3]], np.float32), np.array([0, 0, 1]))
    result = score_outputs(rows([1, 1], [2, 2.5], [5, 5]), data)
    assert result.metric == "auc" and result.value == 1
    assert default_metric(rows([1, 1]), dataset(np.ones((1, 2)), None)) == "mse"


def test_mse_compares_with_targets_inputs_or_a_reference() -> None:
    data = dataset(np.zeros((2, 3), np.float32), np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert score_outputs(rows([1, 2], [3, 6]), data).value == 1
    reconstruction = dataset(np.ones((2, 3), np.float32), None)
    assert score_outputs(rows([1, 1, 1], [1, 1, 4]), reconstruction).value == pytest.approx(1.5)
    without_targets = dataset(np.zeros((2, 3), np.float32), None)
    assert (
        score_outputs(rows([1, 2], [3, 4]), without_targets, "mse", reference=rows([1, 2], [3, 2])).value == 1
    )
    with pytest.raises(UsageError, match="no targets to compare"):
        score_outputs(rows([1, 2], [3, 4]), without_targets, "mse")
    before = score_outputs(rows([1, 2], [3, 6]), data)
    after = score_outputs(rows([1, 2], [3, 7]), data)
    assert metric_drop(before, after) == pytest.approx(1.25)


def test_labels_that_no_metric_uses_give_a_note() -> None:
    outputs = rows([1, 2], [3, 4])
    boxes = dataset(np.ones((2, 3)), np.ones((2, 3, 5), np.float32))
    note = ignored_labels_note(outputs, boxes, default_metric(outputs, boxes))
    assert note is not None and "y has 15 values per sample, and the model's output has 2 values" in note
    for labels in (None, np.array([0, 1]), np.array([[0.5, 2], [1, 1]], np.float32)):
        used = dataset(np.ones((2, 3)), labels)
        assert ignored_labels_note(outputs, used, default_metric(outputs, used)) is None


def test_agreement_needs_a_reference() -> None:
    data = dataset(np.zeros((2, 3), np.float32), None)
    outputs = rows([1, 2], [3, 4])
    assert score_outputs(outputs, data, reference=rows([1, 2], [4, 3])).value == 0.5
    with pytest.raises(UsageError, match="reference"):
        score_outputs(outputs, data, "agreement")


def test_a_single_output_is_compared_with_the_threshold() -> None:
    data = dataset(np.zeros((2, 3), np.float32), np.array([1, 0]))
    assert score_outputs(rows([0.3], [0.1]), data, threshold=0.2).value == 1
    assert score_outputs(rows([0.3], [0.1]), data).value == 0.5


@pytest.mark.parametrize(
    ("labels", "metric", "message"),
    [
        (None, "accuracy", "no labels"),
        (np.array([0, 5]), "accuracy", "labels from 0 to 5"),
        (np.array([0.5, 1.5]), "accuracy", "needs class numbers"),
        (np.array([1, 1]), "auc", "one label"),
        (np.array([0, 3]), "auc", "labels 0 and 1"),
        (np.array([0, 1]), "f1", "no metric 'f1'"),
    ],
)
def test_unsuitable_labels_and_metrics_are_an_error(
    labels: np.ndarray | None, metric: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        score_outputs(rows([1, 2], [2, 1]), dataset(np.zeros((2, 3)), labels), metric)
    assert caught.value.hint


def test_one_hot_labels_are_classes() -> None:
    data = dataset(np.zeros((2, 3)), np.array([[0, 1], [1, 0]]))
    assert score_outputs(rows([0.1, 0.9], [0.2, 0.8]), data).value == 0.5


def test_inputs_are_rounded_as_in_litert() -> None:
    values = np.array([0.25, 0.75, -0.25, -0.75, 100, -100], np.float32)
    assert quantize_values(values, 0.5, 3, np.dtype(np.int8)).tolist() == [4, 5, 2, 1, 127, -128]


def test_a_quantized_model_runs_with_real_inputs_and_outputs() -> None:
    flatbuffer = to_flatbuffer(conv_net())
    runner = RealValueRunner(flatbuffer)
    rng = np.random.default_rng(0)
    sample = rng.normal(size=(1, 8, 8, 3)).astype(np.float32)
    out = runner.run([sample])[0]
    assert out.dtype == np.float32 and out.sum() == pytest.approx(1, abs=0.02)
    assert np.array_equal(out, RealValueRunner(flatbuffer).run([sample])[0])
    with pytest.raises(UsageError, match="takes"):
        runner.run([sample[:, :4]])
    with pytest.raises(UsageError, match="1 inputs"):
        runner.run([sample, sample])
    with pytest.raises(ModelError, match="LiteRT refuses"):
        RealValueRunner(b"nothing")


@pytest.mark.slow
def test_kws01_has_its_published_accuracy() -> None:
    path = SHARED / "data" / "kws01.npz"
    int8, float_model = shared_model("kws01_int8"), shared_model("kws01_float32")
    if not path.exists():
        pytest.skip(f"{path} does not exist")
    graph = load_any(int8).main
    q = graph.tensors[graph.inputs[0]]
    data = load_dataset(
        path, [load_any(float_model).main.tensors[0]], quantized=(q.scale, q.zero_point), labels=True
    )
    small = data.limited(250)
    calls: list[tuple[int, int]] = []
    outputs = run_dataset(int8.read_bytes(), small, progress=lambda *progress: calls.append(progress))
    assert calls[-1] == (250, 250)
    assert 0.85 < score_outputs(outputs, small).value < 0.95  # 90.1 % over all 1000 samples
    full = score(float_model.read_bytes(), data)
    assert full.value == pytest.approx(0.905, abs=0.002) and len(full.per_class) == 12


def test_state_is_reset_for_every_sample() -> None:
    """A wake-word model stores earlier audio features in resource variables."""
    runner = RealValueRunner(shared_model("sww01_int8").read_bytes())
    rng = np.random.default_rng(0)
    shape = tuple(runner.inputs[0]["shape"])
    sample, other_sample = (rng.normal(size=shape).astype(np.float32) * 10 for _ in range(2))
    first = runner.run([sample])[0]
    runner.run([other_sample])
    assert np.array_equal(runner.run([sample])[0], first)
