"""Compute the quality metrics of the MLPerf Tiny rules for anomaly detection: anomaly scores, and the area under their
ROC curve (AUC)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.errors import UsageError


def real_values(array: np.ndarray, tensor: Tensor) -> np.ndarray:
    """Return the real numbers (float64) that ``array`` represents with the scale and zero point of ``tensor``."""
    if tensor.quant is None or array.dtype.kind == "f":
        return array.astype(np.float64)
    return (array.astype(np.float64) - tensor.quant.zero_point[0]) * tensor.quant.scale[0]


def anomaly_score(inputs: np.ndarray, outputs: np.ndarray) -> float:
    """Return the mean squared difference between an autoencoder's inputs and outputs, both in real values. Raises
    ``UsageError`` if their sizes differ."""
    if inputs.size != outputs.size:
        raise UsageError(
            f"The model returns {outputs.size} numbers for {inputs.size} inputs, so it is not an autoencoder.",
            "Choose a model that reconstructs its input: ad01 needs one.",
        )
    return float(np.mean((inputs.ravel() - outputs.ravel()) ** 2))


def mean_per_recording(
    values: Sequence[float], recordings: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean score of each recording, sorted by the recording's name or number, and the index of its first
    window. ``values`` has the score of each window (sample). ``recordings`` has the recording of each window. If
    ``recordings`` is None, each window counts as a recording."""
    scores = np.asarray(values, np.float64)
    if recordings is None:
        return scores, np.arange(len(scores))
    _, first, group = np.unique(recordings, return_index=True, return_inverse=True)
    return np.bincount(group, scores) / np.bincount(group), first


def auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the area under the ROC curve: the probability that a positive sample has a higher score than a negative
    sample. A tie counts half.

    This is the Mann-Whitney statistic (Hanley and McNeil 1982), which equals the trapezoidal area. Raises
    ``UsageError`` if one of the classes is missing, because the curve is not defined then.
    """
    positive, negative = scores[labels == 1], np.sort(scores[labels == 0])
    if not len(positive) or not len(negative) or len(positive) + len(negative) != len(scores):
        raise UsageError(
            f"The AUC needs samples of class 0 (normal) and 1 (anomaly). Of {len(scores)} samples,"
            f" {len(negative)} have class 0 and {len(positive)} have class 1.",
            "Set y to 0 or 1 for each sample, and include samples of both classes.",
        )
    below = np.searchsorted(negative, positive, "left")
    upto = np.searchsorted(negative, positive, "right")
    return float((below + upto).sum() / (2 * len(positive) * len(negative)))
