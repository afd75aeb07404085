"""Make learnable data sets for the random networks: pictures, sequences, tokens, vectors and masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

#: The classes of a data set, and the number of tokens.
CLASSES, VOCABULARY = 6, 24


@dataclass(frozen=True)
class TaskData:
    """Inputs and targets: ``x[i]`` has one row per sample of input ``i``, ``y[k]`` class numbers or float32 values of
    output ``k``."""

    x: list[np.ndarray]
    y: list[np.ndarray]


def make_task(name: str, count: int, seed: int) -> TaskData:
    """Return ``count`` samples of the data set ``name``. The seed determines the samples; the classes are the same for
    every seed."""
    return _TASKS[name](np.random.default_rng([seed, 5]), count)


def _patterns(shape: tuple[int, ...], key: int) -> np.ndarray:
    """Return one pattern per class: float64 [CLASSES, *shape]. Each ``key`` gives other patterns."""
    return np.random.default_rng([77, key]).normal(size=(CLASSES, *shape))


def _pictures(rng: np.random.Generator, count: int, side: int = 16, channels: int = 3) -> TaskData:
    """Shifted patterns of 4 x 4 squares with noise and changing brightness."""
    coarse = _patterns((4, 4, channels), 1)
    patterns = coarse.repeat(side // 4, axis=1).repeat(side // 4, axis=2)
    labels = rng.integers(0, CLASSES, count)
    shifts = rng.integers(-2, 3, (count, 2))
    shifted = np.stack([np.roll(patterns[c], s, (0, 1)) for c, s in zip(labels, shifts, strict=True)])
    gain = rng.uniform(0.5, 1.5, (count, 1, 1, 1))
    x = gain * shifted + 1.1 * rng.normal(size=shifted.shape)
    return TaskData([x.astype(np.float32)], [labels])


def _sequences(rng: np.random.Generator, count: int, steps: int = 16, features: int = 6) -> TaskData:
    """Waves of a frequency per class, mixed into several channels, with noise."""
    mixing = _patterns((features,), 2)
    labels = rng.integers(0, CLASSES, count)
    time = np.arange(steps) / steps
    phase = rng.uniform(0, 2 * np.pi, (count, 1))
    waves = np.sin(2 * np.pi * (1 + labels[:, None]) * time + phase)
    x = waves[:, :, None] * mixing[labels][:, None, :] + 0.8 * rng.normal(size=(count, steps, features))
    return TaskData([x.astype(np.float32)], [labels])


def _tokens(rng: np.random.Generator, count: int, steps: int = 16) -> TaskData:
    """Random tokens, of which some are from the class's own set."""
    labels = rng.integers(0, CLASSES, count)
    own = labels[:, None] * 4 + rng.integers(0, 4, (count, steps))
    tokens = np.where(rng.random((count, steps)) < 0.35, own, rng.integers(0, VOCABULARY, (count, steps)))
    return TaskData([tokens.astype(np.int32)], [labels])


def _vectors(rng: np.random.Generator, count: int, features: int = 20) -> TaskData:
    """Points near two centers per class."""
    centers = np.stack([_patterns((features,), 3), _patterns((features,), 4)], axis=1)
    labels = rng.integers(0, CLASSES, count)
    x = centers[labels, rng.integers(0, 2, count)] + 1.1 * rng.normal(size=(count, features))
    return TaskData([x.astype(np.float32)], [labels])


def _values(rng: np.random.Generator, count: int, features: int = 12) -> TaskData:
    """Vectors, and two smooth functions of them."""
    x = rng.normal(size=(count, features))
    weights = np.random.default_rng(78).normal(size=(features, 4)) / np.sqrt(features)
    z = x @ weights
    y = np.stack([np.sin(2 * z[:, 0]) + z[:, 1], z[:, 2] * z[:, 3] + z[:, 0]], axis=1)
    return TaskData([x.astype(np.float32)], [(y + 0.1 * rng.normal(size=y.shape)).astype(np.float32)])


def _masks(rng: np.random.Generator, count: int, side: int = 16) -> TaskData:
    """Pictures of a bright square and a dark disk; the class of each pixel is 0 (background), 1 or 2."""
    rows, columns = np.mgrid[:side, :side]
    masks = np.zeros((count, side, side), np.int64)
    for mask in masks:
        top, left, row, column = rng.integers(1, side - 5, 4)
        mask[(rows - row - 2) ** 2 + (columns - column - 2) ** 2 <= 8] = 2
        mask[top : top + 5, left : left + 5] = 1
    x = np.choose(masks, [0.0, 1.2, -1.2])[..., None] + 0.6 * rng.normal(size=(count, side, side, 1))
    return TaskData([x.astype(np.float32)], [masks])


def _pairs(rng: np.random.Generator, count: int) -> TaskData:
    """A picture and a vector. Each alone determines the class poorly."""
    picture, vector = _pictures(rng, count, 12, 1), _vectors(rng, count, 8)
    centers = _patterns((8,), 3)
    labels = picture.y[0]
    x = centers[labels] + 1.3 * rng.normal(size=vector.x[0].shape)
    return TaskData([picture.x[0], x.astype(np.float32)], [labels])


def _scenes(rng: np.random.Generator, count: int) -> TaskData:
    """Pictures whose class and brightness are to be found."""
    data = _pictures(rng, count)
    gain = rng.uniform(-1, 1, count)
    x = data.x[0] + gain[:, None, None, None].astype(np.float32)
    return TaskData([x], [data.y[0], gain[:, None].astype(np.float32)])


_TASKS: dict[str, Callable[[np.random.Generator, int], TaskData]] = {
    "pictures": _pictures,
    "sequences": _sequences,
    "tokens": _tokens,
    "vectors": _vectors,
    "values": _values,
    "masks": _masks,
    "pairs": _pairs,
    "scenes": _scenes,
}
