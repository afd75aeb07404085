"""Random tree ensembles for tests, as the attributes of ONNX operators."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from arenite.converters.importers.onnx_ml import onnx_writer

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")


@dataclass
class RandomTrees:
    """The attributes of a random ensemble. The nodes are in the order that ONNX Runtime needs.

    A node is (tree, number, feature, threshold, mode, number of the child if true, number of the child if false), and a
    leaf is (tree, number of its node, output, value).
    """

    rng: np.random.Generator
    features: int
    outputs: int
    trees: int
    depth: int
    modes: tuple[str, ...] = MODES
    missing: bool = False  # whether nodes say where a missing value goes, and samples have missing values
    thresholds: np.ndarray = field(default_factory=lambda: np.zeros(0))
    nodes: list[tuple[int, int, int, float, str, int, int]] = field(default_factory=list)
    leaves: list[tuple[int, int, int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.thresholds = np.round(self.rng.normal(size=8) * 20).astype(np.float32)
        for tree in range(self.trees):
            self._count = 0
            self._add(tree, self.depth)

    def shuffle(self) -> None:
        """Put the nodes and leaves into a random order, and give the nodes other numbers."""
        numbers = self.rng.permutation(4 * len(self.nodes)).tolist()
        self.nodes = [(t, numbers[k], f, v, m, numbers[y], numbers[n]) for t, k, f, v, m, y, n in self.nodes]
        self.leaves = [(t, numbers[k], output, value) for t, k, output, value in self.leaves]
        self.rng.shuffle(self.nodes)
        self.rng.shuffle(self.leaves)

    def _add(self, tree: int, depth: int) -> int:
        """Add a subtree of up to ``depth`` levels and return the number of its root."""
        k, place = self._count, len(self.nodes)
        self._count += 1
        if depth == 0 or self.rng.random() < 0.2:
            self.nodes.append((tree, k, 0, 0.0, "LEAF", 0, 0))
            for output in range(self.outputs):
                if output == 0 or self.rng.random() < 0.6:
                    self.leaves.append((tree, k, output, float(np.float32(self.rng.normal()))))
            return k
        yes, no = self._add(tree, depth - 1), self._add(tree, depth - 1)
        threshold = float(self.rng.choice(self.thresholds))
        mode = str(self.rng.choice(self.modes))
        self.nodes.insert(place, (tree, k, int(self.rng.integers(self.features)), threshold, mode, yes, no))
        return k

    def attributes(self, prefix: str) -> dict[str, object]:
        """Return the ONNX attributes. ``prefix`` is "target" for a regressor."""
        tree, k, feature, threshold, mode, yes, no = zip(*self.nodes, strict=True)
        leaf_tree, leaf, output, value = zip(*self.leaves, strict=True)
        ints = {
            "nodes_treeids": tree, "nodes_nodeids": k, "nodes_featureids": feature, "nodes_truenodeids": yes,
            "nodes_falsenodeids": no, f"{prefix}_treeids": leaf_tree, f"{prefix}_nodeids": leaf,
            f"{prefix}_ids": output,
        }  # fmt: skip
        floats = {"nodes_values": threshold, f"{prefix}_weights": value}
        return {
            **{name: np.array(values, np.int64) for name, values in ints.items()},
            **{name: np.array(values, np.float32) for name, values in floats.items()},
            "nodes_modes": list(mode),
            **({"nodes_missing_value_tracks_true": self._tracks(mode)} if self.missing else {}),
        }

    def _tracks(self, modes: tuple[str, ...]) -> np.ndarray:
        ways = np.random.default_rng(len(modes)).integers(0, 2, len(modes))
        return np.where(np.array(modes) == "LEAF", 0, ways).astype(np.int64)

    def regressor(self, **changes: object) -> bytes:
        """Return the bytes of an ONNX file. ``changes`` replaces attributes."""
        attributes = self.attributes("target") | {"n_targets": self.outputs} | changes
        node = onnx_writer.node("TreeEnsembleRegressor", ["X"], ["Y"], attributes)
        return onnx_writer.model([node], self.features, [onnx_writer.value_info(12, "Y", (1, self.outputs))])

    def samples(self, count: int) -> np.ndarray:
        """Return float32 samples whose values are at, below and above thresholds."""
        values = self.rng.choice(self.thresholds, (count, self.features))
        above, below = (np.nextafter(values, np.float32(end)) for end in (np.inf, -np.inf))
        x = np.choose(self.rng.integers(3, size=values.shape), [values, above, below]).astype(np.float32)
        if self.missing:
            x[self.rng.random(x.shape) < 0.4] = np.nan
        return x
