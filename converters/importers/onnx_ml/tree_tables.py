"""Make the tables of an image from trees: fixed-point leaves, thresholds in the type of the features, fewer nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from arenite.converters.graph.trees import MAX_FEATURES, MAX_LEAVES, MISSING_LEFT, TreeEnsemble
from arenite.converters.importers.onnx_ml.tree_nodes import TreeNodes
from arenite.converters.tflite.quantization import MAX_SCALE, MIN_SCALE
from arenite.errors import UnsupportedModelError

#: Sums of leaves stay below this, so that a float32 has their exact value.
_MAX_SUM = 1 << 24
#: The largest magnitude of a leaf, which an image stores as int16.
_MAX_LEAF = (1 << 15) - 1

#: Leaves are exact multiples of a step if they differ from multiples by at most this part of the step. ONNX stores
#: leaves as float32.
_EXACT = 1e-4


@dataclass(frozen=True)
class FixedPoint:
    """Leaves and start values as integers: a real value is ``step`` times an integer.

    If ``exact``, every leaf is a multiple of the step. ``largest_error`` is the largest possible difference of an
    output from the sum of the real leaves.
    """

    leaves: np.ndarray  # int64, (leaves, outputs)
    bias: np.ndarray  # int64, (outputs,)
    step: float  # a float32 number
    exact: bool
    largest_error: float


def to_fixed_point(values: np.ndarray, bias: np.ndarray, trees: int) -> FixedPoint:
    """Return fixed-point leaves for ``values``, of shape (leaves, outputs), and the start values ``bias``.

    If all are multiples of one step, as the votes of fully grown trees are, the result is exact. Otherwise the step
    uses 16 bits for the largest leaf. Raises ``UnsupportedModelError`` if the step is no scale of a tensor.
    """
    sizes = np.abs(values[values != 0])
    largest = float(sizes.max(initial=0.0))
    if not largest:
        step = _float32_step(max(float(np.abs(bias).max(initial=0.0)), 1.0) / _MAX_LEAF)
        return FixedPoint(
            np.zeros(values.shape, np.int64), np.rint(bias / step).astype(np.int64), step, False, step / 2
        )
    smallest = float(sizes.min())
    counts = values / smallest
    integers, start = np.rint(counts), np.rint(bias / smallest)
    is_exact = (
        np.abs(counts - integers).max() <= _EXACT
        and np.abs(bias / smallest - start).max(initial=0.0) <= _EXACT
        and np.abs(integers).max() <= _MAX_LEAF
        and np.abs(integers).max() * trees + np.abs(start).max(initial=0.0) < _MAX_SUM
    )
    if is_exact:
        step = _float32_step(smallest)
        return FixedPoint(integers.astype(np.int64), start.astype(np.int64), step, True, 0.0)
    # The sum in steps, without rounding, must be below _MAX_SUM by more than the rounding of all leaves and of the
    # start value can add: half a step each.
    total = largest * trees + float(np.abs(bias).max(initial=0.0))
    smallest_step = _float32_step(max(largest / _MAX_LEAF, total / (_MAX_SUM - trees - 2)))
    step = float(np.nextafter(np.float32(smallest_step), np.float32(np.inf)))
    while True:
        leaves = np.rint(values / step).astype(np.int64)
        if len(np.unique(leaves, axis=0)) <= MAX_LEAVES:
            break
        step *= 2  # fewer different leaves
    return FixedPoint(leaves, np.rint(bias / step).astype(np.int64), step, False, (trees + 1) * step / 2)


def _float32_step(step: float) -> float:
    """Return ``step`` rounded to float32. Raises ``UnsupportedModelError`` if it is no scale of a tensor."""
    if not MIN_SCALE <= step <= MAX_SCALE:
        raise UnsupportedModelError(
            f"The leaves and start values of the trees need a step of {step:.3g}; "
            f"{MIN_SCALE:.1e} to {MAX_SCALE:.1e} is supported.",
            "Train with targets in another unit, for example in mm instead of m.",
        )
    return float(np.float32(step))


def tables_of(nodes: TreeNodes, fixed: FixedPoint, features: int, dtype: str) -> TreeEnsemble:
    """Return the tables of an image, with features of the type ``dtype``.

    For integer features, a threshold is rounded down, which gives the same comparison for every integer. Nodes whose
    comparison has only one result, and nodes with two equal leaves, are left out.
    """
    highest_feature = int(nodes.feature.max(initial=0))
    if not highest_feature < features <= MAX_FEATURES:
        raise UnsupportedModelError(
            f"The trees have {max(features, highest_feature + 1)} features; the limit is {MAX_FEATURES}.",
            "Train with fewer features: leave out those with the smallest feature_importances_.",
        )
    leaves, leaf_of, targets = _compact_leaves(fixed.leaves)
    threshold = nodes.threshold
    low, high = -np.inf, np.inf
    if dtype != "float32":
        nodes = replace(nodes, missing_left=np.zeros(len(threshold), bool))
        info = np.iinfo(dtype)
        low, high = info.min, info.max
        threshold = np.floor(threshold)
    feature, kept, left, right, roots = _smaller_trees(nodes, threshold, leaf_of, low, high)
    if not len(feature):  # a file has no empty tables
        feature, kept, left, right = np.array([0]), np.array([0]), roots[:1], roots[:1]
    return TreeEnsemble(
        feature.astype(np.int16),
        kept.astype(dtype),
        left.astype(np.int32),
        right.astype(np.int32),
        roots.astype(np.int32),
        leaves.astype(np.int16),
        fixed.bias.astype(np.int32),
        targets,
    )


def _compact_leaves(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the different leaves, the number of the leaf of each row, and the targets.

    If each row has at most one value that is not 0, a leaf is this value and its output. Otherwise a leaf is a row,
    without the first columns if they are 0 everywhere.
    """
    outputs = rows.shape[1]
    used = rows != 0
    first = int(used.any(axis=0).argmax()) if used.any() else outputs - 1
    if outputs - first > 1 and (used.sum(axis=1) <= 1).all():
        column = used.argmax(axis=1)
        pairs = np.stack([column, rows[np.arange(len(rows)), column]], axis=1)
        different, leaf_of = np.unique(pairs, axis=0, return_inverse=True)
        return different[:, 1:], leaf_of.reshape(-1), different[:, 0].astype(np.int16)
    different, leaf_of = np.unique(rows[:, first:], axis=0, return_inverse=True)
    return different, leaf_of.reshape(-1), None


class _Range(NamedTuple):
    """The values that a feature can have at a node: the numbers of a closed interval, which may be empty, and possibly
    a missing value (NaN)."""

    below: float
    above: float
    missing: bool


def _smaller_trees(
    nodes: TreeNodes, threshold: np.ndarray, leaf_of: np.ndarray, low: float, high: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return feature, threshold, left, right and roots without the nodes that decide nothing. A child ``~k`` is row
    ``k`` of the compact leaves. ``low`` and ``high`` are the limits of every feature. Features have the bit
    ``MISSING_LEFT``."""
    missing_left = nodes.missing_left.tolist()
    knows_missing = any(missing_left)
    feature_of, threshold_of = nodes.feature.tolist(), threshold.tolist()
    left_of, right_of = nodes.left.tolist(), nodes.right.tolist()
    # A node's replacement, if its comparison has only one result.
    known: list[int | None] = [None] * len(feature_of)
    for root in nodes.roots.tolist():
        stack: list[tuple[int, dict[int, _Range]]] = [(root, {})] if root >= 0 else []
        while stack:
            k, limits = stack.pop()
            f, t = feature_of[k], threshold_of[k]
            below, above, missing = limits.get(f, _Range(low, high, knows_missing))
            to_left, to_right = missing and missing_left[k], missing and not missing_left[k]
            missing_left[k] = to_left
            children: list[tuple[int, dict[int, _Range]]]
            if t >= above and not to_right:
                known[k] = left_of[k]
                children = [(left_of[k], limits)]
            elif t < below and not to_left:
                known[k] = right_of[k]
                children = [(right_of[k], limits)]
            elif t >= above or t < below:  # only a missing value goes to the other side
                number_range, only_missing = _Range(below, above, False), _Range(np.inf, -np.inf, True)
                sides = (number_range, only_missing) if t >= above else (only_missing, number_range)
                children = [(left_of[k], {**limits, f: sides[0]}), (right_of[k], {**limits, f: sides[1]})]
            else:
                # For float features, the right side is open; its end only serves for comparisons with ``t < below``.
                least = t + 1 if low != -np.inf else float(np.nextafter(np.float32(t), np.float32(np.inf)))
                children = [
                    (left_of[k], {**limits, f: _Range(below, t, to_left)}),
                    (right_of[k], {**limits, f: _Range(least, above, to_right)}),
                ]
            stack += [(c, limit) for c, limit in children if c >= 0]
    # The children of a node have larger numbers, so they are replaced first.
    final: list[int] = [0] * len(feature_of)

    def resolved(child: int) -> int:
        return ~int(leaf_of[~child]) if child < 0 else final[child]

    for k in range(len(feature_of) - 1, -1, -1):
        replacement = known[k]
        if replacement is not None:
            final[k] = resolved(replacement)
            continue
        yes, no = resolved(left_of[k]), resolved(right_of[k])
        final[k] = yes if yes == no and yes < 0 else k
    number: dict[int, int] = {}
    order: list[int] = []
    roots = [resolved(root) for root in nodes.roots.tolist()]
    stack_of_nodes = [root for root in reversed(roots) if root >= 0]
    while stack_of_nodes:
        k = stack_of_nodes.pop()
        number[k] = len(order)
        order.append(k)
        stack_of_nodes += [c for c in (resolved(right_of[k]), resolved(left_of[k])) if c >= 0]

    def child(k: int) -> int:
        return k if k < 0 else number[k]

    left = np.array([child(resolved(left_of[k])) for k in order], np.int64)
    right = np.array([child(resolved(right_of[k])) for k in order], np.int64)
    at = np.array(order, np.int64)
    feature = nodes.feature[at] | np.where(np.array(missing_left)[at], MISSING_LEFT, 0)
    return feature, threshold[at], left, right, np.array([child(root) for root in roots], np.int64)


def swapped(nodes: TreeNodes, threshold: np.ndarray, swaps: np.ndarray) -> TreeNodes:
    """Return the trees with other thresholds, and with the children swapped where ``swaps``."""
    return replace(
        nodes,
        threshold=threshold,
        missing_left=nodes.missing_left ^ swaps,
        left=np.where(swaps, nodes.right, nodes.left),
        right=np.where(swaps, nodes.left, nodes.right),
    )
