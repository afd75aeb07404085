"""Accuracy by the rules: top-1, or the area under the ROC curve of anomaly scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.errors import UsageError


def real_values(array: np.ndarray, tensor: Tensor) -> np.ndarray:
    """The real numbers (float64) that ``array`` represents."""
    if tensor.quant is None or array.dtype.kind == "f":
        return array.astype(np.float64)
    return (array.astype(np.float64) - tensor.quant.zero_point[0]) * tensor.quant.scale[0]


def anomaly_score(inputs: np.ndarray, outputs: np.ndarray) -> float:
    """Mean squared error of an autoencoder's reconstruction, in real values."""
    if inputs.size != outputs.size:
        raise UsageError(
            f"The model returns {outputs.size} numbers for {inputs.size} inputs, so it is not an autoencoder.",
            "ad01 needs a model that reconstructs its input.",
        )
    return float(np.mean((inputs.ravel() - outputs.ravel()) ** 2))


def per_recording(values: Sequence[float], recordings: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The mean score of each recording, and the index of its first window; without ``recordings`` each window
    is its own."""
    scores = np.asarray(values, np.float64)
    if recordings is None:
        return scores, np.arange(len(scores))
    _, first, group = np.unique(recordings, return_index=True, return_inverse=True)
    return np.bincount(group, scores) / np.bincount(group), first


def auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """Area under the ROC curve: the chance that a positive scores above a negative, ties counted as half.

    The Mann-Whitney statistic (Hanley and McNeil 1982), which equals the trapezoidal area. Raises
    ``UsageError`` when one of the classes is missing, because the curve is not defined then.
    """
    positive, negative = scores[labels == 1], np.sort(scores[labels == 0])
    if not len(positive) or not len(negative) or len(positive) + len(negative) != len(scores):
        raise UsageError(
            f"The AUC needs samples of class 0 (normal) and 1 (anomaly); there are"
            f" {len(negative)} and {len(positive)} of {len(scores)}.",
            "Give y as 0 or 1, with both in it.",
        )
    below = np.searchsorted(negative, positive, "left")
    upto = np.searchsorted(negative, positive, "right")
    return float((below + upto).sum() / (2 * len(positive) * len(negative)))
