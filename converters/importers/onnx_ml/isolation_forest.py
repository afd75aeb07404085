"""The trees of scikit-learn's IsolationForest, whose leaves are path lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from arenite.converters.importers.onnx_ml.sklearn_trees import SklearnTree, tree_of


def isolating_trees(model: Any) -> Iterator[SklearnTree]:
    """Return the trees of the fitted IsolationForest ``model``. The sum of their leaves is the mean path length of a
    sample: the depth of its leaf, plus the mean depth that the leaf's training samples would have in a further tree."""
    count = len(model.estimators_)
    for part, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        tree = part.tree_
        depth = np.zeros(tree.node_count)
        for node in range(tree.node_count):  # children have larger numbers than their parent
            if tree.children_left[node] >= 0:
                depth[[tree.children_left[node], tree.children_right[node]]] = depth[node] + 1
        lengths = (depth + mean_path_length(tree.n_node_samples)) / count
        nodes = tree_of(part, lengths[:, None])
        yield replace(nodes, feature=np.asarray(columns)[nodes.feature])


def border_of(model: Any) -> float:
    """Return the mean path length below which ``model`` calls a sample an outlier.

    Its score is ``-2 ** (-length / c)``, and an outlier's score is below ``offset_``.
    """
    longest = mean_path_length(np.array([model.max_samples_]))[0]
    return float(-longest * np.log2(-model.offset_))


def mean_path_length(samples: np.ndarray) -> np.ndarray:
    """Return the mean depth of the leaves of trees that isolate each of ``samples`` random samples."""
    count = np.maximum(samples, 3).astype(np.float64)
    lengths = 2 * (np.log(count - 1) + np.euler_gamma) - 2 * (count - 1) / count
    return np.where(samples <= 1, 0.0, np.where(samples == 2, 1.0, lengths))
