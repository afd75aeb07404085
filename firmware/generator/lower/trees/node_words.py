"""Encode the nodes of a tree ensemble as 16-bit words (``tree_ensemble.h``)."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.trees import MISSING_LEFT, TreeEnsemble, sortable_integers

#: This bit is set in the word of a leaf.
LEAF = 0x8000
#: The largest number of words of a tree.
MAX_WORDS = (1 << 16) - 1


def feature_shift(ensemble: TreeEnsemble) -> int:
    """Return the number of bits that a node's word has for the size of its left subtree: 15 minus the bits for the
    feature. The kernel skips the left subtree to get to the right one."""
    return 15 - max(int(_feature_bits(ensemble).max()).bit_length(), 1)


def _feature_bits(ensemble: TreeEnsemble) -> np.ndarray:
    """Return the bits for the feature in the word of each node."""
    if not ensemble.routes_missing:
        return ensemble.feature
    feature = ensemble.feature.astype(np.int32)
    bits: np.ndarray = (feature & (MISSING_LEFT - 1)) << 1 | (feature & MISSING_LEFT != 0)
    return bits


def node_words(ensemble: TreeEnsemble, positions: list[int] | None = None) -> np.ndarray | None:
    """Return the words of all trees as uint16, or None if a tree has more than ``MAX_WORDS`` words.

    ``positions`` has the position of each leaf; None: its number. The subtrees of a node are written one after the
    other. A node that two others refer to is written twice.
    """
    words: list[int] = []
    thresholds = _threshold_words(ensemble)
    feature, left, right = _feature_bits(ensemble).tolist(), ensemble.left.tolist(), ensemble.right.tolist()
    shift = feature_shift(ensemble)
    far = (1 << shift) - 1  # means that the next word has the size of the left subtree
    sizes = _sizes(ensemble, thresholds.shape[1], far)
    if sizes is None:
        return None
    for root in ensemble.roots.tolist():
        length = sizes[root] if root >= 0 else 1
        if length > MAX_WORDS:
            return None
        words.append(length)
        stack = [root]
        while stack:
            k = stack.pop()
            if k < 0:
                words.append(LEAF | (~k if positions is None else positions[~k]))
                continue
            skip = sizes[left[k]] if left[k] >= 0 else 1
            words += [feature[k] << shift | skip] if skip < far else [feature[k] << shift | far, skip]
            words += thresholds[k].tolist()
            stack += [right[k], left[k]]
    return np.array(words, np.uint16)


def _threshold_words(ensemble: TreeEnsemble) -> np.ndarray:
    """Return the words of each threshold, an array of shape (nodes, words)."""
    keys = sortable_integers(ensemble.threshold)
    if keys.dtype != np.int32:
        return keys.astype(np.int16).view(np.uint16).reshape(-1, 1)
    bits = keys.view(np.uint32)
    return np.stack([bits & 0xFFFF, bits >> 16], axis=1).astype(np.uint16)


def _sizes(ensemble: TreeEnsemble, threshold_words: int, far: int) -> list[int] | None:
    """Return the number of words of the subtree of each node, or None if one is too large."""
    left, right = ensemble.left.tolist(), ensemble.right.tolist()
    sizes = [0] * len(left)
    for k in range(len(left) - 1, -1, -1):  # children have larger numbers
        before = sizes[left[k]] if left[k] >= 0 else 1
        after = sizes[right[k]] if right[k] >= 0 else 1
        sizes[k] = 1 + (before >= far) + threshold_words + before + after
        if sizes[k] > MAX_WORDS:
            return None
    return sizes
