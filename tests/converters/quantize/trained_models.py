"""A small classifier trained with NumPy, for tests of accuracy losses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.small_models import Net

#: The size of a sample and the number of classes.
FEATURES, CLASSES = 48, 8


def samples(
    count: int, seed: int, *, gain: np.ndarray | None = None, noise: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy patterns with values mostly in [0, 1] and their labels. ``gain`` has a factor for each sample."""
    patterns = np.random.default_rng(77).random((CLASSES, FEATURES))
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    x = np.clip(patterns[labels] + noise * rng.normal(size=(count, FEATURES)), 0, 1)
    if gain is not None:
        x = x * gain[:, None]
    return x.astype(np.float32), labels


def dataset(x: np.ndarray, labels: np.ndarray | None, **slices: np.ndarray) -> Dataset:
    """Return the rows of ``x`` as the samples of a data set."""
    return Dataset([[row[None]] for row in x], labels, slices, "00" * 32, Path("made.npz"))


def train(
    x: np.ndarray, labels: np.ndarray, hidden: Sequence[int], *, steps: int = 300, seed: int = 0
) -> list[np.ndarray]:
    """Train dense layers without biases and with a RELU after each layer but the last. Adam minimizes the
    cross-entropy. Return the weights [outputs, inputs] of each layer."""
    rng = np.random.default_rng(seed)
    sizes = [x.shape[1], *hidden, int(labels.max()) + 1]
    weights = [(rng.normal(size=(o, i)) * np.sqrt(2 / i)).astype(np.float32) for i, o in pairwise(sizes)]
    # Adam's moving averages of the gradients and of their squares.
    first, second = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    for step in range(1, steps + 1):
        learning_rate = 0.003 * (1 - 0.9 * step / steps)
        rows = rng.integers(0, len(x), 64)
        values = [x[rows]]
        for k, w in enumerate(weights):
            z = values[-1] @ w.T
            values.append(np.maximum(z, 0) if k < len(weights) - 1 else z)
        p = np.exp(values[-1] - values[-1].max(axis=1, keepdims=True))
        delta = p / p.sum(axis=1, keepdims=True)
        delta[np.arange(len(rows)), labels[rows]] -= 1
        for k in reversed(range(len(weights))):
            gradient = delta.T @ values[k] / len(rows)
            delta = (delta @ weights[k]) * (values[k] > 0)
            first[k] += 0.1 * (gradient - first[k])
            second[k] += 0.001 * (gradient * gradient - second[k])
            rate = np.float32(learning_rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step))
            weights[k] -= rate * first[k] / (np.sqrt(second[k]) + np.float32(1e-8))
    return weights


def dense_net(weights: Sequence[np.ndarray]) -> bytes:
    """Return the layers as a float TFLite model with zero biases and a softmax."""
    n = Net(0)
    x = n.input((1, weights[0].shape[1]), "float32")
    for k, w in enumerate(weights):
        weight = n.tensor(w.shape, "float32", data=w)
        bias = n.tensor((len(w),), "float32", data=np.zeros(len(w)))
        relu = int(k < len(weights) - 1)
        x = n.op(
            "FULLY_CONNECTED", [x, weight, bias], (1, len(w)), "float32",
            options="FullyConnectedOptions", fused_activation_function=relu,
        )  # fmt: skip
    y = n.op("SOFTMAX", [x], n.tensors[x].shape, "float32", options="SoftmaxOptions", beta=1.0)
    return to_flatbuffer(n.model([y]))


@cache
def classifier(hidden: tuple[int, ...] = (32, 24)) -> bytes:
    """Return a classifier trained on 2000 samples. Its accuracy on new samples is about 97 %."""
    return dense_net(train(*samples(2000, 1), hidden))


@cache
def wide_classifier(hidden: tuple[int, ...] = (1536, 768)) -> bytes:
    """Return a classifier of 1.26 million weights. Training takes only about a second, because only the last
    layer is fitted (by least squares). The other layers have random weights."""
    x, labels = samples(1500, 1)
    rng = np.random.default_rng(0)
    values, weights = x.astype(np.float64), []
    for size in hidden:
        w = rng.normal(size=(size, values.shape[1])) * np.sqrt(2 / values.shape[1])
        weights.append(w)
        values = np.maximum(values @ w.T, 0)
    targets = np.eye(CLASSES)[labels] * 8 - 4
    gram = values.T @ values + 10.0 * np.eye(hidden[-1])
    weights.append(np.linalg.solve(gram, values.T @ targets).T)
    return dense_net([w.astype(np.float32) for w in weights])
