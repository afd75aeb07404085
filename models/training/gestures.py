"""Train the model of the application ``gestures``: motions of a wrist, from statistics and bands of four seconds.

The data set is BasicMotions: 80 recordings of ten seconds from a smart watch, of people who stand, run, walk or play
badminton. Half of them are for training. The example has all the others, one after the other.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from arenite.converters.processing.preprocess import preprocess_motion
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.models.datasets.motions import LABELS, recordings
from arenite.models.datasets.progress_bar import progress_bar
from arenite.models.manifest import manifest
from arenite.models.training import dense
from arenite.models.training.application_recipe import ApplicationRecipe, FloatModel

#: The samples of the data set are multiplied by this number, the ``unit`` of the application's record.
UNIT = 900
HIDDEN, EPOCHS = 12, 400


def counts(recording: np.ndarray) -> np.ndarray:
    """Return a recording of the data set as int16 samples of the same shape."""
    return np.clip(np.round(recording * UNIT), -32768, 32767).astype(np.int16)


def windows(spec: Preprocessing, samples: np.ndarray) -> np.ndarray:
    """Return the inputs of the model [windows, features] for all windows of the recordings [recordings, moments,
    axes]."""
    source = spec.source
    assert isinstance(source, ImuSource)
    starts = range(0, samples.shape[1] - source.window + 1, source.hop)
    parts = [one[start : start + source.window] for one in samples for start in starts]
    return np.stack([preprocess_motion(spec, part).reshape(-1) for part in parts])


def held_out() -> tuple[np.ndarray, np.ndarray]:
    """Return the int16 recordings [recordings, moments, axes] that the model is not trained with, in the order of the
    example, and the numbers of their motions."""
    _, (x, y), _ = recordings(progress=False)
    order = np.random.default_rng(0).permutation(len(x))
    return counts(x)[order], y[order]


def train_layers(x: np.ndarray, y: np.ndarray, progress: bool) -> list[np.ndarray]:
    """Return the weights and biases of two dense layers, trained with Adam on float ``x`` [samples, features] and the
    classes ``y``."""
    rng = np.random.default_rng(1)
    scale = x.std(0) + 0.05  # the first layer takes the place of a normalization
    normal = (x - x.mean(0)) / scale
    sizes = (x.shape[1], HIDDEN, len(LABELS))
    weights = [rng.normal(0, (2 / n) ** 0.5, (m, n)) for n, m in pairwise(sizes)]
    layers = [part for w in weights for part in (w, np.zeros(len(w)))]
    adam = dense.Adam(layers, 0.01)
    target = np.eye(len(LABELS))[y]
    with progress_bar("Training gestures", EPOCHS, progress) as step:
        for _ in range(EPOCHS):
            w1, b1, w2, b2 = layers
            inputs = normal + rng.normal(0, 0.3, normal.shape)  # noise, because there are only 40 recordings
            hidden = np.maximum(inputs @ w1.T + b1, 0)
            logits = hidden @ w2.T + b2
            odds = np.exp(logits - logits.max(1, keepdims=True))
            error = (odds / odds.sum(1, keepdims=True) - target) / len(x)
            back = (error @ w2) * (hidden > 0)
            slopes = [back.T @ inputs, back.sum(0), error.T @ hidden, error.sum(0)]
            adam.update(
                [slope + 1e-3 * part / len(layers) for slope, part in zip(slopes, layers, strict=True)]
            )
            step()
    w1, b1, w2, b2 = layers
    return [w1 / scale, b1 - w1 @ (x.mean(0) / scale), w2, b2]


def train(spec: Preprocessing, progress: bool = True) -> FloatModel:
    """Return the float model, for inputs that ``spec`` computes. Raises ``ToolError`` if the data cannot be
    downloaded."""
    (recorded, classes), _, _ = recordings(progress)
    x = windows(spec, counts(recorded))
    layers = train_layers(x, np.repeat(classes, len(x) // len(recorded)), progress)
    return FloatModel(dense.dense_model(layers, softmax=True), x.astype(np.float32))


def example(progress: bool = True) -> np.ndarray:
    """Return the held-out recordings in a row, int16 [moments, axes]. Raises ``ToolError`` if the data cannot be
    downloaded."""
    recordings(progress)
    return np.concatenate(held_out()[0])


RECIPE = ApplicationRecipe(
    train=train,
    example=example,
    labels=LABELS,
    key=b"".join(
        [
            Path(__file__).read_bytes(),
            Path(dense.__file__).read_bytes(),
            manifest().datasets["motions"].sha256.encode(),
        ]
    ),
)
