"""The nodes of a fitted tree of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class SklearnTree:
    """The nodes of a tree. A node with ``left`` -1 is a leaf; ``values`` has a row of values for each node."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    values: np.ndarray


def tree_of(part: Any, values: np.ndarray) -> SklearnTree:
    """Return the nodes of the decision tree ``part`` with ``values``, of shape [nodes, outputs]."""
    tree = part.tree_
    is_leaf = tree.children_left < 0
    missing_left = getattr(tree, "missing_go_to_left", np.zeros(len(is_leaf)))  # scikit-learn 1.3 and newer
    return SklearnTree(
        np.where(is_leaf, 0, tree.feature),
        np.where(is_leaf, 0.0, tree.threshold),
        tree.children_left,
        tree.children_right,
        ~is_leaf & (missing_left != 0),
        values,
    )
