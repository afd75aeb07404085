"""Read the nodes of TreeEnsembleClassifier and TreeEnsembleRegressor, and check that they are trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.trees import MAX_NODES, MAX_OUTPUTS, MAX_TREES
from arenite.converters.importers.onnx_ml.feature_steps import float32_at_most
from arenite.converters.importers.onnx_ml.onnx_graph import OnnxNode
from arenite.errors import ModelError, UnsupportedModelError

#: For each mode of a node: whether its children are swapped, and whether the comparison with the threshold excludes
#: equality.
_MODES = {
    "BRANCH_LEQ": (False, False),
    "BRANCH_LT": (False, True),
    "BRANCH_GT": (True, False),
    "BRANCH_GTE": (True, True),
}
#: The largest number of weights (leaves times columns), 128 MiB of float64.
_MAX_WEIGHTS = 1 << 24

_SMALLER = "Train a smaller model: fewer trees, or a smaller depth."
_EXPORT = "Export the model again with the current skl2onnx or onnxmltools."


@dataclass(frozen=True)
class TreeNodes:
    """All nodes and leaves of an operator.

    A child is a node (``>= 0``) or a leaf (``~leaf``). Each node and leaf has one parent, except the roots. The
    children of a node have larger numbers. ``weights`` is float64, with one row per leaf and one column per class.
    """

    feature: np.ndarray  # int64
    threshold: np.ndarray  # float32; left if the feature is less than or equal to it
    left: np.ndarray  # int64
    right: np.ndarray  # int64
    roots: np.ndarray  # int64, one per tree
    weights: np.ndarray
    missing_left: np.ndarray  # bool; whether a missing value (NaN) goes to the left


def read_tree_nodes(node: OnnxNode, prefix: str, columns: int) -> TreeNodes:
    """Return the nodes of the ONNX operator ``node``.

    The names of the leaves' attributes begin with ``prefix``, "class" or "target". ``columns`` is the number of classes
    or targets. Raises ``ModelError`` for attributes that are no trees, and ``UnsupportedModelError`` for modes and
    sizes that are not supported.
    """

    def ints(name: str, length: int | None = None) -> np.ndarray:
        return _array(node, name, "iu", length)

    def floats(name: str, length: int | None = None) -> np.ndarray:
        tensor = node.attributes.get(f"{name}_as_tensor")
        return _array(node, name if tensor is None else f"{name}_as_tensor", "f", length)

    tree = ints("nodes_treeids")
    count = len(tree)
    if count > MAX_NODES:
        raise UnsupportedModelError(f"{node} has {count:,} nodes, the limit is {MAX_NODES:,}.", _SMALLER)
    number, feature = ints("nodes_nodeids", count), ints("nodes_featureids", count)
    yes, no = ints("nodes_truenodeids", count), ints("nodes_falsenodeids", count)
    values = floats("nodes_values", count).astype(np.float64)
    modes = node.attributes.get("nodes_modes")
    if not isinstance(modes, list) or len(modes) != count:
        raise _damaged(node, "nodes_modes does not have one value per node")
    unknown = set(modes) - {*_MODES, "LEAF"}
    if unknown:
        raise UnsupportedModelError(
            f"{node} has nodes of the mode {min(unknown)}; trees for devices compare with <=, <, >= or >.",
            "Encode categories as numbers before training.",
        )
    is_leaf = np.array([mode == "LEAF" for mode in modes])
    swapped, strict = (np.array([mode in _MODES and _MODES[mode][k] for mode in modes]) for k in (0, 1))
    rows = _Rows(node, tree, number)
    children = [np.where(is_leaf, 0, rows.find(tree, ids, ~is_leaf)) for ids in (yes, no)]
    left, right = np.where(swapped, children[1], children[0]), np.where(swapped, children[0], children[1])
    parents = np.bincount(np.concatenate([left[~is_leaf], right[~is_leaf]]), minlength=count)
    roots = np.flatnonzero(parents == 0)
    if parents.max(initial=0) > 1:
        raise _damaged(
            node, f"node {number[parents.argmax()]} of tree {tree[parents.argmax()]} has two parents"
        )
    if len(roots) != len(np.unique(tree)) or len(np.unique(tree[roots])) != len(roots):
        raise _damaged(node, "a tree does not have exactly one root")
    if len(roots) > MAX_TREES:
        raise UnsupportedModelError(f"{node} has {len(roots):,} trees, the limit is {MAX_TREES:,}.", _SMALLER)
    if np.isnan(values[~is_leaf]).any():
        raise _damaged(node, "a threshold is NaN")
    if feature[~is_leaf].min(initial=0) < 0:
        raise _damaged(node, "a feature has a negative number")
    order = _preorder(left, right, is_leaf, roots)
    # Nodes in a cycle have one parent each, but no root leads to them.
    if len(order) != count:
        raise _damaged(node, f"{count - len(order)} nodes cannot be reached from a root")
    place = np.empty(count, np.int64)
    inner, leaves = order[~is_leaf[order]], order[is_leaf[order]]
    place[inner], place[leaves] = np.arange(len(inner)), ~np.arange(len(leaves))
    weights = _weights(node, prefix, columns, rows, place, len(leaves))
    tracks = node.attributes.get("nodes_missing_value_tracks_true")
    if tracks is None:
        tracks = np.zeros(count, np.int64)
    elif not isinstance(tracks, np.ndarray) or tracks.shape != (count,):
        raise _damaged(node, "nodes_missing_value_tracks_true does not have one value per node")
    missing_left = (tracks != 0) ^ swapped
    return TreeNodes(
        feature[inner],
        float32_at_most(values[inner], below=strict[inner]),
        place[left[inner]],
        place[right[inner]],
        place[roots],
        weights,
        missing_left[inner],
    )


class _Rows:
    """The positions of nodes in the attributes, by tree and number."""

    def __init__(self, node: OnnxNode, tree: np.ndarray, number: np.ndarray) -> None:
        self._node = node
        both = np.concatenate([tree, number])
        if both.min() < 0 or both.max() >= 1 << 31:
            raise _damaged(node, "a tree or node has a number outside of 0 to 2,147,483,647")
        keys = tree << 31 | number
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        if (self._keys[1:] == self._keys[:-1]).any():
            raise _damaged(node, "two nodes of a tree have the same number")

    def find(self, tree: np.ndarray, number: np.ndarray, needed: np.ndarray) -> np.ndarray:
        """Return the position of each node. A position that is not ``needed`` may be wrong. Raises ``ModelError`` if a
        node does not exist."""
        inside = (tree >= 0) & (number >= 0) & (tree < 1 << 31) & (number < 1 << 31)
        keys = np.where(inside, tree << 31 | number, -1)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        missing = needed & (self._keys[at] != keys)
        if missing.any():
            k = int(missing.argmax())
            raise _damaged(self._node, f"node {number[k]} of tree {tree[k]} does not exist")
        return self._order[at]


def _preorder(left: np.ndarray, right: np.ndarray, is_leaf: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Return the nodes and leaves in the order root, left subtree, right subtree."""
    left_of, right_of, leaf = left.tolist(), right.tolist(), is_leaf.tolist()
    order = []
    stack = roots[::-1].tolist()
    while stack:
        k = stack.pop()
        order.append(k)
        if not leaf[k]:
            stack.append(right_of[k])
            stack.append(left_of[k])
    return np.array(order, np.int64)


def _weights(
    node: OnnxNode, prefix: str, columns: int, rows: _Rows, place: np.ndarray, leaves: int
) -> np.ndarray:
    """Return the weights, of shape (leaves, columns). ``place`` has, for each position in the attributes, the new
    number of the node, or ``~leaf`` for a leaf."""
    tree = _array(node, f"{prefix}_treeids", "iu", None)
    number = _array(node, f"{prefix}_nodeids", "iu", len(tree))
    column = _array(node, f"{prefix}_ids", "iu", len(tree))
    tensor = f"{prefix}_weights_as_tensor"
    name = tensor if node.attributes.get(tensor) is not None else f"{prefix}_weights"
    values = _array(node, name, "f", len(tree)).astype(np.float64)
    if columns > MAX_OUTPUTS or columns * leaves > _MAX_WEIGHTS:
        raise UnsupportedModelError(
            f"{node} has {columns:,} outputs and {leaves:,} leaves, which is too much.", _SMALLER
        )
    if len(column) and not (column.min() >= 0 and column.max() < columns):
        raise _damaged(node, f"a leaf has a value for output {column.max()}, but there are {columns}")
    if not np.isfinite(values).all():
        raise _damaged(node, "the value of a leaf is not finite")
    at = place[rows.find(tree, number, np.ones(len(tree), bool))]
    if (at >= 0).any():
        raise _damaged(node, "a node that is no leaf has a value")
    weights = np.zeros((leaves, columns))
    np.add.at(weights, (~at, column), values)
    return weights


def _array(node: OnnxNode, name: str, kinds: str, length: int | None) -> np.ndarray:
    """Return the attribute ``name`` as an array of one dimension. ``kinds`` has the accepted NumPy kinds. ``length`` is
    the number of values, or None for any number above 0."""
    value = node.attributes.get(name)
    if value is None and length == 0:
        return np.zeros(0, np.int64 if kinds == "iu" else np.float64)
    if (
        not isinstance(value, np.ndarray)
        or value.ndim != 1
        or value.dtype.kind not in kinds
        or not len(value)
    ):
        raise _damaged(node, f"the attribute {name} is missing or has another type")
    if length is not None and len(value) != length:
        raise _damaged(node, f"the attribute {name} has {len(value)} values, expected {length}")
    return value.astype(np.int64) if kinds == "iu" else value


def _damaged(node: OnnxNode, problem: str) -> ModelError:
    return ModelError(f"{node}: {problem}.", _EXPORT)
