"""Metrics of a trained network's outputs on its test samples."""

from __future__ import annotations

import numpy as np


def accuracy(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Share of the samples whose largest output is at the label's index."""
    return float(np.mean(probabilities.argmax(-1) == labels))


def per_class(probabilities: np.ndarray, labels: np.ndarray) -> list[float]:
    """The accuracy of each class, by its number; classes without samples are NaN."""
    hits = probabilities.argmax(-1) == labels
    return [
        float(hits[labels == c].mean()) if (labels == c).any() else float("nan")
        for c in range(probabilities.shape[-1])
    ]


def roc_auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Area under the ROC curve: the share of pairs whose positive score is above the negative one, ties counted half.

    Mann and Whitney's U over the number of pairs. NaN when all samples are of one kind.
    """
    positive = positive.astype(bool)
    pairs = int(positive.sum()) * int((~positive).sum())
    if pairs == 0:
        return float("nan")
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    n = int(positive.sum())
    return float((ranks[inverse][positive].sum() - n * (n + 1) / 2) / pairs)


def reconstruction_errors(inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Mean squared error of each sample."""
    flat = inputs.reshape(len(inputs), -1)
    value: np.ndarray = ((outputs.reshape(len(outputs), -1) - flat) ** 2).mean(1)
    return value
