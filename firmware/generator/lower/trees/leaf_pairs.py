"""Encode the leaves of a tree ensemble as lists of pairs (output, value), without the values that are 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.trees import TreeEnsemble

#: This bit is set in the last pair of a leaf.
LAST = 0x8000
#: The number of bits of a pair without ``LAST``, and of the position of a leaf.
_BITS = 15


@dataclass(frozen=True)
class LeafPairs:
    """The pairs of all leaves (``tree_ensemble.h``), the distinct values, and the position of the first pair of each
    leaf."""

    pairs: np.ndarray  # uint16
    values: np.ndarray  # int16
    positions: list[int]
    value_bits: int


def leaf_pairs(ensemble: TreeEnsemble) -> LeafPairs | None:
    """Return the pairs, or None if the leaves need fewer bytes as rows (``leaf_rows``) or the pairs do not fit into 16
    bits."""
    rows = leaf_contents(ensemble)
    values = sorted({value for row in rows for _, value in row})
    value_bits = max((len(values) - 1).bit_length(), 1)
    count = sum(map(len, rows))
    if (ensemble.outputs - 1).bit_length() + value_bits > _BITS or count >= 1 << _BITS:
        return None
    if ensemble.targets is None and count + len(values) >= ensemble.leaves.size:
        return None
    number = {value: k for k, value in enumerate(values)}
    pairs: list[int] = []
    positions = []
    for row in rows:
        positions.append(len(pairs))
        pairs += [output << value_bits | number[value] for output, value in row]
        pairs[-1] |= LAST
    return LeafPairs(np.array(pairs, np.uint16), np.array(values, np.int16), positions, value_bits)


def leaf_contents(ensemble: TreeEnsemble) -> list[list[tuple[int, int]]]:
    """Return for each leaf its pairs (output, value). A leaf whose values are all 0 has one pair."""
    leaves = ensemble.leaves.tolist()
    if ensemble.targets is not None:
        return [[(target, row[0])] for target, row in zip(ensemble.targets.tolist(), leaves, strict=True)]
    first = ensemble.first_output
    return [[(first + k, v) for k, v in enumerate(row) if v] or [(first, 0)] for row in leaves]


def leaf_rows(ensemble: TreeEnsemble) -> np.ndarray:
    """Return the leaves as int16 [leaves, outputs]: the values of each leaf for the last outputs, or for all outputs if
    each leaf has one target."""
    if ensemble.targets is None:
        return ensemble.leaves
    rows = np.zeros((len(ensemble.leaves), ensemble.outputs), np.int16)
    rows[np.arange(len(rows)), ensemble.targets] = ensemble.leaves[:, 0]
    return rows
