"""Models of one tree operator, from random tables, for tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.graph.trees import MISSING_LEFT, OPERATOR, TreeEnsemble
from tests.fuzz.graph_builder import GraphBuilder


def random_ensemble(
    rng: np.random.Generator,
    *,
    dtype: str = "int16",
    features: int = 5,
    trees: int = 4,
    nodes: int = 20,
    outputs: int = 3,
    width: int | None = None,
    targets: bool = False,
    leaves: int = 9,
    bias: bool = True,
    missing: bool = False,
) -> TreeEnsemble:
    """Return random trees with ``nodes`` nodes each. ``width`` is the number of values of a leaf; None: ``outputs``. If
    ``targets``, a leaf has one value for one output. If ``missing``, missing values go to the left at half of the
    nodes."""
    feature = rng.integers(0, features, trees * nodes)
    if missing:
        feature |= rng.choice([0, MISSING_LEFT], trees * nodes)
    if dtype == "float32":
        threshold = np.round(rng.normal(size=trees * nodes), 1).astype(np.float32)
    else:
        info = np.iinfo(dtype)
        threshold = rng.choice(
            [info.min, -300, -256, -7, 0, 3, 100, 255, 256, 300, info.max - 1], trees * nodes
        )
        threshold = np.clip(threshold, info.min, info.max).astype(dtype)
    left, right, roots = [], [], []
    for tree in range(trees):
        start = tree * nodes
        # Each node but the first becomes a child of an earlier node. All other children are leaves.
        children = [[~int(rng.integers(leaves)) for _ in range(2)] for _ in range(nodes)]
        free = [(0, side) for side in (0, 1)] if nodes else []
        for k in range(1, nodes):
            parent, side = free.pop(int(rng.integers(len(free))))
            children[parent][side] = start + k
            free += [(k, 0), (k, 1)]
        left += [c[0] for c in children]
        right += [c[1] for c in children]
        roots.append(start if nodes else ~int(rng.integers(leaves)))
    wide = 1 if targets else width or outputs
    values = rng.choice([0, 1, -1, 200, -3000, 5000, 32767, -32768], (leaves, wide))
    start_values = rng.integers(-100_000, 100_000, outputs) if bias else np.zeros(outputs)
    return TreeEnsemble(
        feature.astype(np.int16),
        threshold,
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.array(roots, np.int32),
        values.astype(np.int16),
        start_values.astype(np.int32),
        rng.integers(0, outputs, leaves).astype(np.int16) if targets else None,
    )


def model_of(ensemble: TreeEnsemble, features: int = 5) -> Model:
    """Return a model with one tree operator."""
    b = GraphBuilder()
    dtype = ensemble.threshold.dtype.name
    x = b.input((1, features), dtype, None if dtype == "float32" else Quantization((1.0,), (0,)))
    tables = [b.const(table, table.dtype.name) for table in ensemble.tables()]
    y = b.tensor((1, ensemble.outputs), "int32", Quantization((0.5,), (0,)))
    b.op("CUSTOM", [x, *tables], [y])
    b.ops[-1] = replace(b.ops[-1], custom_code=OPERATOR)
    return b.build()


def samples(
    rng: np.random.Generator, ensemble: TreeEnsemble, count: int, features: int = 5
) -> list[np.ndarray]:
    """Return inputs with values at thresholds, beside them, and at the ends of the type."""
    thresholds = ensemble.threshold
    rows = []
    for _ in range(count):
        row = rng.choice(thresholds, (1, features))
        if thresholds.dtype == np.float32:
            other = np.nextafter(row, np.float32(rng.choice([-np.inf, np.inf])))
            values = [-0.0, 0.0, -np.inf, np.inf, 1e-40]
            values += [np.nan, -np.nan] if ensemble.routes_missing else []
            special = rng.choice(np.array(values, np.float32), row.shape)
        else:
            info = np.iinfo(thresholds.dtype)
            other = np.clip(row.astype(np.int64) + rng.choice([-1, 1]), info.min, info.max)
            special = rng.choice([info.min, info.max, 0], row.shape)
        rows.append(
            np.choose(rng.integers(3, size=row.shape), [row, other, special]).astype(thresholds.dtype)
        )
    return rows


def ensemble_with_shared_nodes(count: int = 60) -> TreeEnsemble:
    """Return a tree with ``count`` nodes, in which both children of each node are the next node. Without the sharing it
    would have 2**count nodes."""
    following = np.array([*range(1, count), ~0], np.int32)
    return replace(
        random_ensemble(np.random.default_rng(0)),
        feature=np.zeros(count, np.int16),
        threshold=np.zeros(count, np.int16),
        left=following,
        right=following,
        roots=np.zeros(1, np.int32),
    )
