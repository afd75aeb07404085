"""Tree ensembles: decision trees, forests and boosted trees as tables, and NumPy code that evaluates them.

TensorFlow Lite has no operator for trees. An image stores an ensemble as the custom operator ``OPERATOR``, whose
constant inputs are the tables of ``TreeEnsemble``. All results are integers, so the kernels give exactly the values of
``TreeEnsemble.evaluate``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.feature_types import FEATURE_TYPES
from arenite.converters.graph.model import Model, Op, Subgraph, Tensor
from arenite.errors import UnsupportedModelError

#: The name of the custom operator.
OPERATOR = "ARENITE_TREE_ENSEMBLE"

#: The positions of the operator's inputs.
FEATURES, FEATURE, THRESHOLD, LEFT, RIGHT, ROOTS, LEAVES, BIAS, TARGETS = range(9)

MAX_NODES = 1 << 20
MAX_TREES = 1 << 14
MAX_LEAVES = 1 << 15
MAX_OUTPUTS = 1 << 8
MAX_FEATURES = 1024

#: The table of features has this bit in a node at which a missing value (NaN) goes to the left.
MISSING_LEFT = 0x4000
_HINT = "The file is damaged or was changed: convert the model again."


@dataclass(frozen=True)
class TreeEnsemble:
    """The tables of a tree ensemble.

    A node compares one feature with a threshold. If the feature is less than or equal to it, the left child follows,
    otherwise the right child. A missing value (NaN) goes to the right, or to the left if the feature has the bit
    ``MISSING_LEFT``. A child or root ``c >= 0`` is node ``c``; a child or root ``c < 0`` is leaf ``~c``. The
    children of a node have larger numbers than the node.

    ``feature``, ``threshold``, ``left`` and ``right`` have one element per node. ``roots`` has one per tree. ``leaves``
    has the shape (leaves, width). The result starts as ``bias``. For each tree, the row of its leaf is added: to the
    output ``targets[leaf]`` if there are targets (the width is then 1), otherwise to the last ``width`` outputs.
    """

    feature: np.ndarray  # int16
    threshold: np.ndarray  # float32, int16 or int8, as the features
    left: np.ndarray  # int32
    right: np.ndarray  # int32
    roots: np.ndarray  # int32
    leaves: np.ndarray  # int16
    bias: np.ndarray  # int32
    targets: np.ndarray | None = None  # int16

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return len(self.bias)

    @property
    def first_output(self) -> int:
        """The first of the outputs to which a row of leaves is added."""
        return self.outputs - int(self.leaves.shape[1])

    @property
    def routes_missing(self) -> bool:
        """Whether a missing value goes to the left at a node."""
        return bool((self.feature & MISSING_LEFT).any())

    def tables(self) -> tuple[np.ndarray, ...]:
        """Return the constant inputs of the operator, in their order."""
        tables = (self.feature, self.threshold, self.left, self.right, self.roots, self.leaves, self.bias)
        return tables if self.targets is None else (*tables, self.targets)

    def leaves_of(self, features: np.ndarray) -> np.ndarray:
        """Return the leaf of each tree for one sample, as an array of shape (trees,)."""
        keys, thresholds = sortable_integers(features.reshape(-1)), sortable_integers(self.threshold)
        missing = np.isnan(features.reshape(-1))
        node = self.roots.astype(np.int64)
        active = node >= 0
        while active.any():
            at = node[active]
            feature = self.feature[at] & (MISSING_LEFT - 1)
            goes_left = keys[feature] <= thresholds[at]
            if self.routes_missing:
                goes_left = np.where(missing[feature], (self.feature[at] & MISSING_LEFT) != 0, goes_left)
            node[active] = np.where(goes_left, self.left[at], self.right[at])
            active = node >= 0
        return ~node

    def evaluate(self, features: np.ndarray) -> np.ndarray:
        """Return the outputs for one sample of ``features``, as int32 of shape (outputs,)."""
        leaves = self.leaves_of(features)
        total = self.bias.astype(np.int64)
        rows = self.leaves[leaves].astype(np.int64)
        if self.targets is None:
            total[self.first_output :] += rows.sum(axis=0)
        else:
            np.add.at(total, self.targets[leaves], rows[:, 0])
        return total.astype(np.int32)

    def depth(self) -> int:
        """Return the largest number of nodes between a root and a leaf."""
        depth = np.zeros(len(self.feature) + 1, np.int64)
        for node in range(len(self.feature) - 1, -1, -1):  # children have larger numbers
            below = [depth[child] for child in (self.left[node], self.right[node]) if child >= 0]
            depth[node] = 1 + max(below, default=0)
        return int(max((depth[root] for root in self.roots if root >= 0), default=0))


def sortable_integers(values: np.ndarray) -> np.ndarray:
    """Return integers that sort as ``values`` do. For float32 these are the bits, with negative numbers reversed, as
    the kernels compare them: -0 and 0 are different, and a NaN is beyond the infinity of its sign."""
    if values.dtype != np.float32:
        return values
    bits = np.ascontiguousarray(values).view(np.int32)
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)


def is_tree_ensemble(op: Op) -> bool:
    return op.kind == OPERATOR


def has_trees(model: Model) -> bool:
    """Return whether a model has a tree ensemble."""
    return any(is_tree_ensemble(op) for graph in model.subgraphs for op in graph.ops)


def random_features(ensemble: TreeEnsemble, features: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random sample for an ensemble, of shape (1, features).

    A feature is one of its thresholds or the next larger number, so that samples reach both sides of all nodes.
    """
    sample = np.zeros((1, features), ensemble.threshold.dtype)
    for k in range(features):
        thresholds = ensemble.threshold[(ensemble.feature & (MISSING_LEFT - 1)) == k]
        if not len(thresholds):
            continue
        value = rng.choice(thresholds)
        if rng.integers(2):
            limit = np.inf if value.dtype.kind == "f" else np.iinfo(value.dtype).max
            above = (
                np.nextafter(value, value.dtype.type(np.inf)) if value.dtype.kind == "f" else int(value) + 1
            )
            value = value if value >= limit else above
        if ensemble.routes_missing and not rng.integers(4):
            value = np.nan
        sample[0, k] = value
    return sample


def ensemble_of(graph: Subgraph, op: Op) -> TreeEnsemble:
    """Return the checked tables of a tree operator. Raises ``UnsupportedModelError`` for tables that a kernel could not
    walk safely: wrong types and sizes, indices outside of their tables, and children that are earlier nodes."""
    tensors = [graph.tensors[i] if i >= 0 else None for i in op.inputs]
    if not BIAS < len(tensors) <= TARGETS + 1 or len(op.outputs) != 1:
        raise _refusal(op, f"has {len(tensors)} inputs and {len(op.outputs)} outputs, expected 8 or 9 and 1")
    x, out = tensors[FEATURES], graph.tensors[op.outputs[0]]
    if x is None or x.data is not None or x.dtype not in FEATURE_TYPES:
        raise _refusal(op, f"its features must be computed values of type {', '.join(FEATURE_TYPES)}")
    if not 0 < x.elements <= MAX_FEATURES or x.shape != (1, x.elements):
        raise _refusal(
            op, f"its features have shape {list(x.shape)}, expected [1, n] with n up to {MAX_FEATURES}"
        )

    def table(position: int, name: str, dtypes: tuple[str, ...], limit: int, rank: int = 1) -> np.ndarray:
        """Return the constant input at ``position``, after checking its type and shape."""
        t: Tensor | None = tensors[position]
        if (
            t is None
            or t.data is None
            or t.dtype not in dtypes
            or len(t.shape) != rank
            or max(t.shape) > limit
        ):
            raise _refusal(
                op, f"its table '{name}' must be constant, {' or '.join(dtypes)}, with up to {limit} entries"
            )
        return t.data

    feature = table(FEATURE, "feature", ("int16",), MAX_NODES)
    threshold = table(THRESHOLD, "threshold", (x.dtype,), MAX_NODES)
    left, right = table(LEFT, "left", ("int32",), MAX_NODES), table(RIGHT, "right", ("int32",), MAX_NODES)
    roots = table(ROOTS, "roots", ("int32",), MAX_TREES)
    leaves = table(LEAVES, "leaves", ("int16",), MAX_LEAVES, 2)
    bias = table(BIAS, "bias", ("int32",), MAX_OUTPUTS)
    has_targets = len(tensors) > TARGETS and tensors[TARGETS] is not None
    targets = table(TARGETS, "targets", ("int16",), MAX_LEAVES) if has_targets else None
    nodes = len(feature)
    if not len(threshold) == len(left) == len(right) == nodes:
        raise _refusal(op, "its tables of nodes have different lengths")
    if not nodes or not len(roots) or not leaves.size or not len(bias):
        raise _refusal(op, "a table is empty")
    if x.dtype != "float32" and (feature & MISSING_LEFT).any():
        raise _refusal(op, "a node knows missing values, which only float32 features have")
    if not (feature.min() >= 0 and (feature & (MISSING_LEFT - 1)).max() < x.elements):
        raise _refusal(op, f"a node reads a feature outside of the {x.elements} features")
    node = np.arange(nodes)
    for name, children, minimum in (
        ("left", left, node + 1),
        ("right", right, node + 1),
        ("roots", roots, 0),
    ):
        bad = np.where(children >= 0, (children >= nodes) | (children < minimum), ~children >= len(leaves))
        if bad.any():
            raise _refusal(
                op, f"entry {int(bad.argmax())} of its table '{name}' is no leaf and no later node"
            )
    width = leaves.shape[1]
    if targets is None and width > len(bias):
        raise _refusal(op, f"a leaf has {width} values, but there are {len(bias)} outputs")
    if targets is not None and (
        width != 1 or len(targets) != len(leaves) or targets.min() < 0 or targets.max() >= len(bias)
    ):
        raise _refusal(op, "its table 'targets' does not fit the leaves or the outputs")
    largest = np.abs(leaves.astype(np.int64)).max() * len(roots) + np.abs(bias.astype(np.int64)).max()
    if largest >= 1 << 31:
        raise _refusal(op, "its sums do not fit 32 bits")
    if out.dtype != "int32" or out.shape != (1, len(bias)):
        raise _refusal(op, f"its output is {out.dtype} {list(out.shape)}, expected int32 [1, {len(bias)}]")
    return TreeEnsemble(feature, threshold, left, right, roots, leaves, bias, targets)


def _refusal(op: Op, problem: str) -> UnsupportedModelError:
    return UnsupportedModelError(f"operator {op.index} {OPERATOR}: {problem}.", _HINT)
