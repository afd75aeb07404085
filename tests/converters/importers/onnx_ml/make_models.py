"""Train the scikit-learn models of these tests and export them with skl2onnx: ``python make_models.py FOLDER``.

The tests use the files in ``models`` and need none of these packages. To make the files again, run this program
in an environment with scikit-learn, skl2onnx and Arenite. It writes ``NAME.onnx``, and ``NAME.npz`` with test samples
``x`` and the results of scikit-learn: ``answers`` of ``predict`` and, if the model has them, ``scores`` of
``predict_proba`` and ``decision`` of ``decision_function``.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from arenite import export_sklearn


def main(folder: Path) -> None:
    warnings.filterwarnings("ignore")
    iris, wine, cancer = (f(return_X_y=True) for f in (load_iris, load_wine, load_breast_cancer))
    diabetes: Any = load_diabetes(return_X_y=True, scaled=False)
    classes_with_names = (iris[0], np.array(["setosa", "versicolor", "virginica"])[iris[1]])
    classes_with_gaps = (iris[0], np.array([1, 2, 5])[iris[1]])
    two_targets = (diabetes[0], np.stack([diabetes[1], diabetes[1] ** 0.5], axis=1))
    common: dict[str, Any] = {"random_state": 0}
    models = {
        "tree": (DecisionTreeClassifier(**common), wine),
        "tree_regressor": (DecisionTreeRegressor(max_depth=6, **common), diabetes),
        "forest": (RandomForestClassifier(10, **common), wine),
        "forest_binary": (RandomForestClassifier(10, **common), cancer),
        "forest_soft": (RandomForestClassifier(8, min_samples_leaf=3, **common), wine),
        "forest_soft_binary": (RandomForestClassifier(8, min_samples_leaf=3, **common), cancer),
        "forest_scaled": (make_pipeline(StandardScaler(), RandomForestClassifier(8, **common)), wine),
        "forest_min_max": (
            make_pipeline(MinMaxScaler((1, -1 + 2.5)), RandomForestClassifier(5, **common)),
            wine,
        ),
        "forest_names": (RandomForestClassifier(5, **common), classes_with_names),
        "forest_gaps": (RandomForestClassifier(5, **common), classes_with_gaps),
        "forest_regressor": (RandomForestRegressor(6, max_depth=6, **common), diabetes),
        "forest_two_targets": (RandomForestRegressor(4, max_depth=5, **common), two_targets),
        "extra_trees": (ExtraTreesClassifier(10, max_depth=5, **common), iris),
        "boosting": (GradientBoostingClassifier(n_estimators=8, **common), iris),
        "boosting_binary": (GradientBoostingClassifier(n_estimators=12, **common), cancer),
        "boosting_regressor": (GradientBoostingRegressor(n_estimators=15, **common), diabetes),
        "logistic": (make_pipeline(MinMaxScaler(), LogisticRegression()), iris),
        "logistic_binary": (make_pipeline(StandardScaler(), LogisticRegression()), cancer),
        "linear": (LinearRegression(), diabetes),
        "ridge": (make_pipeline(RobustScaler(), Ridge()), diabetes),
        "svc": (LinearSVC(**common), iris),
        "perceptron": (make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=500, **common)), wine),
        "perceptron_binary": (
            make_pipeline(StandardScaler(), MLPClassifier((6, 4), activation="tanh", max_iter=300, **common)),
            cancer,
        ),
        "perceptron_regressor": (
            make_pipeline(
                StandardScaler(),
                MLPRegressor(hidden_layer_sizes=(8,), activation="logistic", max_iter=500, **common),
            ),
            diabetes,
        ),
    }
    hist: dict[str, Any] = {"max_iter": 12, "max_leaf_nodes": 8, **common}
    exported = {
        "hist": (HistGradientBoostingClassifier(**hist), wine),
        "hist_binary": (HistGradientBoostingClassifier(**hist), cancer),
        "hist_names": (HistGradientBoostingClassifier(**hist), classes_with_names),
        "hist_regressor": (HistGradientBoostingRegressor(**hist), diabetes),
        "hist_median": (HistGradientBoostingRegressor(loss="absolute_error", **hist), diabetes),
        "adaboost": (
            AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10, **common),
            wine,
        ),
        "adaboost_binary": (AdaBoostClassifier(n_estimators=15, **common), cancer),
        "exported_tree": (DecisionTreeClassifier(max_depth=4, **common), classes_with_names),
        "exported_forest": (RandomForestClassifier(8, min_samples_leaf=3, **common), wine),
        "exported_regressor": (RandomForestRegressor(6, max_depth=6, **common), diabetes),
    }
    for name, (model, (x, y)) in (models | exported).items():
        x_train, x_test, y_train, _ = train_test_split(x.astype(np.float32), y, random_state=0, test_size=0.4)
        model.fit(x_train, y_train)
        if name in exported:
            export_sklearn(model, folder / f"{name}.onnx")
        else:
            (folder / f"{name}.onnx").write_bytes(to_onnx(model, x_train[:1]).SerializeToString())
        arrays = {"x": x_test, "answers": model.predict(x_test)}
        if hasattr(model, "predict_proba"):
            arrays["scores"] = model.predict_proba(x_test)
        if hasattr(model, "decision_function"):
            arrays["decision"] = model.decision_function(x_test)
        np.savez_compressed(folder / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
