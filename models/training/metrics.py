"""Compute metrics of a trained network's outputs on its test samples."""

from __future__ import annotations

import numpy as np


def accuracy(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Return the fraction of samples whose largest output belongs to the correct class.

    ``probabilities`` has the shape (samples, classes), ``labels`` has the class numbers.
    """
    return float(np.mean(probabilities.argmax(-1) == labels))


def accuracy_per_class(probabilities: np.ndarray, labels: np.ndarray) -> list[float]:
    """Return the accuracy on the samples of each class, in the order of class numbers. It is NaN for a class without
    samples. The arguments are those of ``accuracy``."""
    hits = probabilities.argmax(-1) == labels
    return [
        float(hits[labels == c].mean()) if (labels == c).any() else float("nan")
        for c in range(probabilities.shape[-1])
    ]


def roc_auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve: the fraction of pairs of a positive and a negative sample in which the
    positive sample has the higher score.

    Pairs with equal scores count half. The result is Mann and Whitney's U divided by the number of pairs. It is NaN
    if all samples are positive or all are negative. ``positive`` says for each sample whether it is positive.
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
    """Return the mean squared difference between the input and the output of each sample: an array of shape
    (samples,)."""
    flat = inputs.reshape(len(inputs), -1)
    value: np.ndarray = ((outputs.reshape(len(outputs), -1) - flat) ** 2).mean(1)
    return value
