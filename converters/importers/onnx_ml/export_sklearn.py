"""Write tree models of scikit-learn as ONNX files. Only the attributes of the fitted model are read, so scikit-learn is
not imported, and skl2onnx is not needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.importers.onnx_ml import onnx_writer
from arenite.converters.importers.onnx_ml.isolation_forest import border_of, isolating_trees
from arenite.converters.importers.onnx_ml.sklearn_trees import SklearnTree, tree_of
from arenite.errors import UnsupportedModelError, UsageError
from arenite.files import write_atomic

_CLASSES = {
    "DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor",
    "RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor",
    "HistGradientBoostingClassifier", "HistGradientBoostingRegressor", "AdaBoostClassifier", "IsolationForest",
}  # fmt: skip


def export_sklearn(model: Any, path: str | Path) -> Path:
    """Write the fitted scikit-learn ``model`` as an ONNX file, which ``arenite.convert`` reads, and return ``path``.

    Args:
        model: a decision tree, a random forest or extra trees, histogram-based gradient boosting, an
            ``AdaBoostClassifier`` of decision trees, or an ``IsolationForest``, whose output is the mean path length
            minus that of the border: it is negative for outliers. The features are one row of float32 numbers.
        path: the file to write. A file that exists is replaced.

    Raises:
        UnsupportedModelError: the model is of another class, or has categorical features, several outputs, or a loss
            or algorithm whose values are not the sums of the leaves.
        UsageError: the model is not fitted, or the file cannot be written.
    """
    kind = type(model).__name__
    if kind not in _CLASSES:
        raise UnsupportedModelError(
            f"A model of the class {kind} cannot be exported.",
            "Supported are decision trees, forests, HistGradientBoosting, AdaBoostClassifier and IsolationForest. "
            "Export other models, and pipelines, with skl2onnx.",
        )
    features = getattr(model, "n_features_in_", None)
    # A fit that failed leaves a number of features, but no trees.
    if features is None or not any(hasattr(model, name) for name in ("tree_", "estimators_", "_predictors")):
        raise UsageError(f"The {kind} is not fitted.", "Call fit first.")
    base, post = np.zeros(1), "NONE"
    if kind.startswith("Hist"):
        trees = list(_boosted_trees(model, kind))
        base = np.asarray(model._baseline_prediction, np.float64).reshape(-1)
        if kind.endswith("Classifier"):
            post = "LOGISTIC" if len(base) == 1 else "SOFTMAX"
    elif kind == "AdaBoostClassifier":
        trees = list(_voting_trees(model))
    elif kind == "IsolationForest":
        trees = list(isolating_trees(model))
        base = -np.array([border_of(model)])
    else:
        parts = model.estimators_ if hasattr(model, "estimators_") else [model]
        trees = [_averaged_tree(part, kind, len(parts)) for part in parts]
    classes = None if kind == "IsolationForest" else getattr(model, "classes_", None)
    write_atomic(path, _onnx(trees, features, classes, base, post))
    return Path(path)


def _boosted_trees(model: Any, kind: str) -> Iterator[SklearnTree]:
    if getattr(model, "is_categorical_", None) is not None:
        raise UnsupportedModelError(
            f"The {kind} has categorical features.", "Encode categories as numbers before training."
        )
    if kind.endswith("Regressor") and model.loss in ("poisson", "gamma"):
        raise UnsupportedModelError(
            f"The {kind} has the loss '{model.loss}', whose values are not the sums of the leaves.",
            "Train it with the loss 'squared_error', 'absolute_error' or 'quantile', on the logarithm of the targets.",
        )
    for iteration in model._predictors:
        for column, predictor in enumerate(iteration):
            nodes = predictor.nodes
            is_leaf = nodes["is_leaf"] != 0
            values = np.zeros((len(nodes), len(iteration)))
            values[:, column] = np.where(is_leaf, nodes["value"], 0)
            left, right = (np.where(is_leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
            yield SklearnTree(
                np.where(is_leaf, 0, nodes["feature_idx"]),
                np.where(is_leaf, 0.0, nodes["num_threshold"]),
                left,
                right,
                ~is_leaf & (nodes["missing_go_to_left"] != 0),
                values,
            )


def _averaged_tree(part: Any, kind: str, trees: int) -> SklearnTree:
    values = part.tree_.value
    if values.shape[1] != 1:
        raise UnsupportedModelError(
            f"The {kind} has {values.shape[1]} outputs.", "Train one model for each output, or use skl2onnx."
        )
    values = values[:, 0].astype(np.float64)
    if kind.endswith("Classifier"):
        values = values / values.sum(axis=1, keepdims=True)
    return tree_of(part, values / trees)


def _voting_trees(model: Any) -> Iterator[SklearnTree]:
    """Return trees that vote: a leaf adds the weight of its tree to its class."""
    if getattr(model, "algorithm", "") == "SAMME.R":  # the default before scikit-learn 1.6
        raise UnsupportedModelError(
            "The AdaBoostClassifier uses the algorithm SAMME.R, whose values are not votes of its trees.",
            "Train it with algorithm='SAMME'.",
        )
    weights = np.asarray(model.estimator_weights_[: len(model.estimators_)], np.float64)
    for part, weight in zip(model.estimators_, weights / weights.sum(), strict=True):
        if not hasattr(part, "tree_"):
            raise UnsupportedModelError(
                f"The AdaBoostClassifier has estimators of the class {type(part).__name__}.",
                "Use decision trees as its estimators.",
            )
        shares = part.tree_.value[:, 0]
        known = np.searchsorted(model.classes_, part.classes_)
        votes = np.zeros((len(shares), len(model.classes_)))
        votes[np.arange(len(shares)), known[shares.argmax(axis=1)]] = weight
        yield tree_of(part, votes)


def _onnx(trees: Sequence[SklearnTree], features: int, classes: Any, base: np.ndarray, post: str) -> bytes:
    """Return the bytes of an ONNX file with one operator."""
    prefix = "target" if classes is None else "class"
    sizes = [len(tree.left) for tree in trees]
    tree_ids, node_ids = (
        np.repeat(np.arange(len(trees)), sizes),
        np.concatenate([np.arange(n) for n in sizes]),
    )

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(tree, name) for tree in trees])

    left, right, values = joined("left"), joined("right"), joined("values")
    is_leaf = left < 0
    modes = np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist()
    binary = classes is not None and len(classes) == 2 and values.shape[1] == 1
    rows, columns = np.nonzero((values != 0) & is_leaf[:, None])
    if not len(rows):  # an operator has at least one value
        rows, columns = np.flatnonzero(is_leaf)[:1], np.zeros(1, np.int64)
    attributes: dict[str, object] = {
        "nodes_treeids": tree_ids,
        "nodes_nodeids": node_ids,
        "nodes_featureids": joined("feature").astype(np.int64),
        "nodes_truenodeids": np.maximum(left, 0),
        "nodes_falsenodeids": np.maximum(right, 0),
        "nodes_missing_value_tracks_true": joined("missing_left").astype(np.int64),
        "nodes_modes": modes,
        "nodes_values_as_tensor": onnx_writer.Doubles(joined("threshold")),
        f"{prefix}_treeids": tree_ids[rows],
        f"{prefix}_nodeids": node_ids[rows],
        f"{prefix}_ids": columns + int(binary),
        f"{prefix}_weights_as_tensor": onnx_writer.Doubles(values[rows, columns]),
        "post_transform": post,
    }
    if base.any():
        attributes["base_values_as_tensor"] = onnx_writer.Doubles(base)
    if classes is None:
        attributes["n_targets"] = values.shape[1]
        node = onnx_writer.node("TreeEnsembleRegressor", ["X"], ["variable"], attributes)
        outputs = [onnx_writer.value_info(12, "variable", (1, values.shape[1]))]
    else:
        if np.asarray(classes).dtype.kind in "iu":
            attributes["classlabels_int64s"] = np.asarray(classes, np.int64)
        else:
            attributes["classlabels_strings"] = [str(name) for name in classes]
        node = onnx_writer.node("TreeEnsembleClassifier", ["X"], ["label", "scores"], attributes)
        kind = 7 if "classlabels_int64s" in attributes else 8
        outputs = [
            onnx_writer.value_info(12, "label", (1,), kind),
            onnx_writer.value_info(12, "scores", (1, len(classes))),
        ]
    return onnx_writer.model([node], features, outputs)
