"""Train an autoencoder of dense layers with NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from arenite.models.datasets.progress_bar import progress_bar
from arenite.models.training.dense import Adam

_RATE, _BATCH = 1e-3, 64


def layer_values(layers: Sequence[np.ndarray], x: np.ndarray) -> list[np.ndarray]:
    """Return the input ``x`` [samples, values] and the values of each layer. ``layers`` has the weights [outputs,
    inputs] and the bias of each layer; all but the last one end with a ReLU."""
    values = [x]
    for k in range(0, len(layers), 2):
        sums = values[-1] @ layers[k].T + layers[k + 1]
        values.append(sums if k == len(layers) - 2 else np.maximum(sums, 0))
    return values


def train_autoencoder(
    x: np.ndarray, sizes: Sequence[int], epochs: int, *, label: str = "Training", progress: bool = False
) -> list[np.ndarray]:
    """Return the weights and biases of layers with ``sizes`` values, trained with Adam so that the output equals ``x``
    [samples, values]. ``label`` is the text of the progress bar."""
    rng = np.random.default_rng(1)
    mean, scale = x.mean(0), x.std(0) + 0.5  # the first and the last layer take the place of a normalization
    normal = ((x - mean) / scale).astype(np.float32)
    weights = [rng.normal(0, (2 / n) ** 0.5, (m, n)).astype(np.float32) for n, m in pairwise(sizes)]
    # Small weights at first: large errors would soon switch the units of the narrow layer off for all inputs.
    weights[-1] *= 0.1
    layers = [part for w in weights for part in (w, np.zeros(len(w), np.float32))]
    adam = Adam(layers, _RATE)
    with progress_bar(label, epochs, progress) as step:
        for epoch in range(epochs):
            adam.rate = _RATE * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
            for rows in np.array_split(rng.permutation(len(normal)), max(1, len(normal) // _BATCH)):
                values = layer_values(layers, normal[rows])
                error = (values[-1] - values[0]) * (2 / len(rows))
                slopes: list[np.ndarray] = []
                for k in range(len(layers) - 2, -1, -2):
                    slopes = [error.T @ values[k // 2], error.sum(0), *slopes]
                    error = (error @ layers[k]) * (values[k // 2] > 0)
                adam.update(slopes)
            step()
    layers[0], layers[1] = layers[0] / scale, layers[1] - layers[0] @ (mean / scale)
    layers[-2], layers[-1] = layers[-2] * scale[:, np.newaxis], layers[-1] * scale + mean
    return layers
