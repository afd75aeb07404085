"""Models of scikit-learn, exported by skl2onnx and imported, give the answers of scikit-learn on all test samples."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.graph.trees import has_trees
from arenite.converters.importers.imported_model import ImportedModel, ImportOptions
from arenite.converters.importers.litert_runs import run_litert
from arenite.converters.importers.sources import import_source
from arenite.converters.tflite.reader import parse
from arenite.host.bench.reference import Reference

MODELS = Path(__file__).parent / "models"
CLASSIFIERS = (
    "tree", "forest", "forest_binary", "forest_soft", "forest_soft_binary", "forest_scaled", "forest_min_max",
    "extra_trees", "boosting", "boosting_binary", "hist", "hist_binary", "adaboost", "adaboost_binary",
    "exported_forest",
)  # fmt: skip
REGRESSORS = (
    "tree_regressor", "forest_regressor", "forest_two_targets", "boosting_regressor", "hist_regressor", "hist_median",
    "exported_regressor",
)  # fmt: skip


@cache
def imported(name: str) -> ImportedModel:
    """Return the imported model."""
    return import_source(str(MODELS / f"{name}.onnx"))


def tree_outputs(name: str, x: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the integer outputs for all samples, and their scale."""
    reference = Reference(imported(name).flatbuffer)
    rows = np.stack([reference.run([sample[None]])[0][0] for sample in x])
    return rows, reference.outputs[0]["quantization"][0]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes_of_trees_equal_scikit_learns(name: str) -> None:
    data = np.load(MODELS / f"{name}.npz")
    outputs, _ = tree_outputs(name, data["x"])
    np.testing.assert_array_equal(outputs.argmax(axis=1), data["answers"])
    assert imported(name).quantized and has_trees(parse(imported(name).flatbuffer))


@pytest.mark.parametrize(
    "name", [n for n in CLASSIFIERS if n.startswith(("forest", "tree", "extra", "exported"))]
)
def test_outputs_of_forests_are_probabilities(name: str) -> None:
    data = np.load(MODELS / f"{name}.npz")
    outputs, scale = tree_outputs(name, data["x"])
    np.testing.assert_allclose(outputs * scale, data["scores"], atol=2e-5)


@pytest.mark.parametrize("name", ["boosting", "boosting_binary", "hist", "hist_binary"])
def test_outputs_of_boosted_trees_are_log_odds(name: str) -> None:
    data = np.load(MODELS / f"{name}.npz")
    outputs, scale = tree_outputs(name, data["x"])
    if data["decision"].ndim == 1:
        assert not outputs[:, 0].any()
        np.testing.assert_allclose(outputs[:, 1] * scale, data["decision"], atol=1e-3)
    odds = np.exp(outputs * scale)
    np.testing.assert_allclose(odds / odds.sum(axis=1, keepdims=True), data["scores"], atol=1e-4)


@pytest.mark.parametrize("name", REGRESSORS)
def test_values_of_trees_are_within_the_stated_error(name: str) -> None:
    data = np.load(MODELS / f"{name}.npz")
    outputs, scale = tree_outputs(name, data["x"])
    answers = data["answers"].reshape(len(outputs), -1)
    note = next(n for n in imported(name).notes if "fixed-point" in n)
    bound = float(note.rpartition(" ")[2].rstrip("."))
    # scikit-learn sums float64; ONNX stores leaves as float32, whose rounding is relative to the values.
    assert np.abs(outputs * scale - answers).max() <= bound + 1e-6 * np.abs(answers).max()
    assert bound < 1e-3 * np.abs(answers).max()


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        *((f"{kind}_names", ("setosa", "versicolor", "virginica")) for kind in ("forest", "hist")),
        ("exported_tree", ("setosa", "versicolor", "virginica")),
        ("forest_gaps", ("1", "2", "5")),
    ],
)
def test_names_of_classes_are_kept(name: str, labels: tuple[str, ...]) -> None:
    data = np.load(MODELS / f"{name}.npz")
    outputs, _ = tree_outputs(name, data["x"])
    assert imported(name).labels == labels
    assert [labels[k] for k in outputs.argmax(axis=1)] == list(map(str, data["answers"]))


@pytest.mark.parametrize("name", ["logistic", "logistic_binary", "svc", "perceptron", "perceptron_binary"])
def test_classes_of_dense_models_equal_scikit_learns(name: str) -> None:
    data = np.load(MODELS / f"{name}.npz")
    model = imported(name)
    outputs = np.stack([row[0][0] for row in run_litert(model.flatbuffer, [[x[None]] for x in data["x"]])])
    np.testing.assert_array_equal(outputs.argmax(axis=1), data["answers"])
    if "scores" in data:
        np.testing.assert_allclose(outputs, data["scores"], atol=1e-4)
    assert not model.quantized
    kinds = {op.name for op in parse(model.flatbuffer).main.ops}
    assert kinds <= {"FULLY_CONNECTED", "SOFTMAX", "LOGISTIC", "TANH"}  # no separate scaler


@pytest.mark.parametrize("name", ["linear", "ridge", "perceptron_regressor"])
def test_values_of_dense_models_equal_scikit_learns(name: str) -> None:
    data = np.load(MODELS / f"{name}.npz")
    outputs = np.stack(
        [row[0][0] for row in run_litert(imported(name).flatbuffer, [[x[None]] for x in data["x"]])]
    )
    np.testing.assert_allclose(outputs[:, 0], data["answers"], rtol=1e-4)


@pytest.mark.parametrize("dtype", ["int16", "int8"])
def test_integer_features_give_the_same_outputs_as_float_features(dtype: str) -> None:
    """The features of the wine data are rounded to integers. Trees with float thresholds and trees with integer
    thresholds compare these features alike."""
    source = str(MODELS / "forest.onnx")
    limit = np.iinfo(dtype).max
    x = np.clip(np.round(np.load(MODELS / "forest.npz")["x"]), -limit, limit).astype(np.float32)
    integer_model = import_source(source, options=ImportOptions(features=dtype))
    reference = Reference(integer_model.flatbuffer)
    outputs = np.stack([reference.run([sample[None].astype(dtype)])[0][0] for sample in x])
    np.testing.assert_array_equal(outputs, tree_outputs("forest", x)[0])
    nodes = [
        parse(model.flatbuffer).main.tensors[1].elements for model in (integer_model, imported("forest"))
    ]
    assert nodes[0] < nodes[1]  # for integers, several float thresholds are the same comparison
