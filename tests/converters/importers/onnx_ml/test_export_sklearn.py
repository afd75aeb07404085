"""Tree models of scikit-learn that ``export_sklearn`` writes as ONNX files give the answers of scikit-learn. Models
that cannot be exported are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite import export_sklearn
from arenite.converters.graph.trees import ensemble_of
from arenite.converters.importers.imported_model import ImportOptions
from arenite.converters.importers.onnx_ml.import_model import import_classical
from arenite.converters.importers.onnx_ml.isolation_forest import border_of, mean_path_length
from arenite.converters.tflite.reader import parse
from arenite.errors import UnsupportedModelError, UsageError

ensemble = pytest.importorskip("sklearn.ensemble")
tree = pytest.importorskip("sklearn.tree")
pipeline = pytest.importorskip("sklearn.pipeline")


def samples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 300 random samples of 6 features, and a value for each sample that trees can learn."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 6)).astype(np.float32)
    return x, x[:, 0] * x[:, 1] + x[:, 2]


def outputs(model: Any, path: Path, x: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the real outputs of the exported model for all samples, and the step of its fixed-point numbers."""
    graph = parse(import_classical(str(export_sklearn(model, path)), ImportOptions()).flatbuffer).main
    tables, step = ensemble_of(graph, graph.ops[0]), graph.tensors[graph.outputs[0]].scale
    return np.stack([tables.evaluate(row) for row in x]) * step, step


@pytest.mark.parametrize("seed", range(3))
def test_classes_of_random_models_equal_scikit_learns(seed: int, tmp_path: Path) -> None:
    x, y = samples(seed)
    for classes in (2, 4):
        labels = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
        for model in (
            tree.DecisionTreeClassifier(random_state=seed),
            ensemble.RandomForestClassifier(5, random_state=seed),
            ensemble.ExtraTreesClassifier(5, random_state=seed),
            ensemble.HistGradientBoostingClassifier(max_iter=6, random_state=seed),
            ensemble.AdaBoostClassifier(tree.DecisionTreeClassifier(max_depth=3), n_estimators=6),
        ):
            model.fit(x[:200], labels[:200])
            scores, _ = outputs(model, tmp_path / "m.onnx", x)
            np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(x))


@pytest.mark.parametrize("seed", range(3))
def test_missing_values_go_the_way_that_the_model_learned(seed: int, tmp_path: Path) -> None:
    x, y = samples(seed)
    x[np.random.default_rng(seed).random(x.shape) < 0.2] = np.nan
    labels = np.digitize(y, [-1, 1])
    for model in (
        tree.DecisionTreeClassifier(random_state=seed),
        ensemble.RandomForestClassifier(5, random_state=seed),
        ensemble.HistGradientBoostingClassifier(max_iter=6, random_state=seed),
    ):
        model.fit(x[:200], labels[:200])
        scores, _ = outputs(model, tmp_path / "m.onnx", x)
        np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(x))


def test_values_of_random_models_equal_scikit_learns(tmp_path: Path) -> None:
    x, y = samples(9)
    for model in (
        tree.DecisionTreeRegressor(max_depth=7),
        ensemble.RandomForestRegressor(6, max_depth=5),
        ensemble.HistGradientBoostingRegressor(max_iter=20),
        ensemble.HistGradientBoostingRegressor(max_iter=10, loss="quantile", quantile=0.9),
    ):
        model.fit(x[:200], y[:200])
        values, step = outputs(model, tmp_path / "m.onnx", x)
        # Each leaf is rounded to a multiple of the step, so the error grows with the number of trees.
        np.testing.assert_allclose(values[:, 0], model.predict(x), atol=12 * step)


@pytest.mark.parametrize("options", [{}, {"max_features": 0.5}, {"contamination": 0.1, "max_samples": 64}])
def test_an_isolation_forest_finds_the_outliers_that_scikit_learn_finds(
    options: dict, tmp_path: Path
) -> None:
    x, _ = samples(3)
    x[::10] *= 3
    model = ensemble.IsolationForest(n_estimators=40, random_state=0, **options).fit(x[:200])
    values, step = outputs(model, tmp_path / "m.onnx", x)
    decision, margin = model.decision_function(x), values[:, 0]
    # Each leaf is rounded to a multiple of the step, so samples that are this close to the border may change sides.
    tolerance = (len(model.estimators_) + 1) / 2 * step
    assert tolerance < 0.02
    clear = np.abs(margin) > tolerance
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(margin[clear] < 0, model.predict(x)[clear] < 0)
    longest = mean_path_length(np.array([model.max_samples_]))[0]
    scores = -(2 ** -((margin + border_of(model)) / longest))
    np.testing.assert_allclose(scores, model.score_samples(x), atol=tolerance)
    assert (decision < 0).any() and (decision > 0).any()


def test_a_model_that_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    x, y = samples(1)
    boosting = ensemble.HistGradientBoostingRegressor
    categories = np.concatenate([np.abs(x[:, :5]), np.arange(300)[:, None] % 4], axis=1)
    # scikit-learn before 1.6 has this algorithm, and a file of such a model can be loaded with a newer one.
    averaging_probabilities = ensemble.AdaBoostClassifier(n_estimators=2).fit(x, y > 0)
    averaging_probabilities.algorithm = "SAMME.R"
    for model, text in (
        (boosting(loss="poisson", max_iter=2).fit(x, np.abs(y)), "loss 'poisson'"),
        (boosting(categorical_features=[5], max_iter=2).fit(categories, y), "categorical features"),
        (tree.DecisionTreeRegressor().fit(x, np.stack([y, y], axis=1)), "2 outputs"),
        (averaging_probabilities, "SAMME.R"),
        (pipeline.make_pipeline(tree.DecisionTreeRegressor()).fit(x, y), "class Pipeline"),
    ):
        with pytest.raises(UnsupportedModelError, match=text) as error:
            export_sklearn(model, tmp_path / "m.onnx")
        assert error.value.hint
    failed = tree.DecisionTreeClassifier()
    with pytest.raises(ValueError, match="continuous"):
        failed.fit(x, y)
    for model in (tree.DecisionTreeClassifier(), failed):
        with pytest.raises(UsageError, match="not fitted"):
            export_sklearn(model, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())
