"""Compute metrics of a trained network's outputs on its test samples."""

from __future__ import annotations

import numpy as np


def accuracy(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Return the fraction of samples whose largest output is at the label's index."""
    return float(np.mean(probabilities.argmax(-1) == labels))


def per_class(probabilities: np.ndarray, labels: np.ndarray) -> list[float]:
    """Return the accuracy of each class, sorted by class number. It is NaN for a class without samples."""
    hits = probabilities.argmax(-1) == labels
    return [
        float(hits[labels == c].mean()) if (labels == c).any() else float("nan")
        for c in range(probabilities.shape[-1])
    ]


def roc_auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve: the fraction of pairs whose positive score is above the negative one.

    Ties count half. It is Mann and Whitney's U divided by the number of pairs, and NaN if all samples are positive or
    all are negative.
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
    """Return the mean squared error of each sample."""
    flat = inputs.reshape(len(inputs), -1)
    value: np.ndarray = ((outputs.reshape(len(outputs), -1) - flat) ** 2).mean(1)
    return value
