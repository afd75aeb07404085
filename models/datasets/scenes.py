"""Scenes for a detector: pictures of handwritten digits from MNIST in several sizes, on a background with noise.

Training scenes contain MNIST's training digits, test scenes its test digits. The same seed gives the same scenes.
"""

from __future__ import annotations

import numpy as np

from arenite.errors import UsageError
from arenite.models.datasets.mnist import mnist
from arenite.models.datasets.pictures import SIDE_LIMITS, resize_image
from arenite.models.datasets.training_data import DETECT, TrainingData, TrainingSettings

#: The minimum and maximum side of an object (a digit) as fractions of the scene's side, and the maximum number of
#: objects in a scene.
MIN_OBJECT_SIDE, MAX_OBJECT_SIDE, MAX_OBJECTS = 0.3, 0.5, 3

TRAINING_SAMPLES, TEST_SAMPLES = 8000, 1000


def scenes(resolution: int | None = None, progress: bool = True) -> TrainingData:
    """Return scenes with one to three digits that do not overlap. The sides of a scene are ``resolution`` pixels, by
    default 64. Raises ``UsageError`` for a resolution out of range."""
    side = resolution or 64
    if not 32 <= side <= SIDE_LIMITS[1]:
        raise UsageError(
            f"Scenes of {side} pixels are outside 32 to {SIDE_LIMITS[1]}.", "Give another --resolution."
        )
    source = mnist(None, progress)
    rng = np.random.default_rng(0)
    x_train, y_train = _compose(source.x_train, source.y_train, TRAINING_SAMPLES, side, rng)
    x_test, y_test = _compose(source.x_test, source.y_test, TEST_SAMPLES, side, rng)
    return TrainingData(
        name="scenes",
        title=f"scenes of {side}x{side} pixels with one to {MAX_OBJECTS} digits of MNIST",
        task=DETECT,
        x_train=x_train,
        y_train=y_train,
        x_test=x_test,
        y_test=y_test,
        labels=source.labels,
        licence=source.licence,
        settings=TrainingSettings(epochs=16, batch=32, rate=4e-3),
        preprocessing=source.preprocessing,
    )


def _compose(
    digits: np.ndarray, labels: np.ndarray, count: int, side: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``count`` scenes, an array of shape (count, side, side, 1) with values from 0 to 1, and their objects,
    an array of shape (count, MAX_OBJECTS, 5) as ``TrainingData`` describes it."""
    x = np.empty((count, side, side, 1), np.float32)
    y = np.full((count, MAX_OBJECTS, 5), -1.0, np.float32)
    for n in range(count):
        x[n] = _background(side, rng)
        for k in range(int(rng.integers(1, MAX_OBJECTS, endpoint=True))):
            digit = int(rng.integers(len(digits)))
            size = int(rng.integers(int(MIN_OBJECT_SIDE * side), int(MAX_OBJECT_SIDE * side), endpoint=True))
            picture = resize_image(digits[digit], size)
            position = _free_place(y[n, :k], size, side, rng)
            if position is None:
                continue
            top, left = position
            part = x[n, top : top + size, left : left + size]
            np.maximum(part, picture * rng.uniform(0.7, 1.0), out=part)
            y[n, k] = (labels[digit], *_bright_box(picture, top, left, side))
    return x, y


def _background(side: int, rng: np.random.Generator) -> np.ndarray:
    """Return a background of shape (side, side, 1): a linear brightness gradient with noise. Its values are from 0 to
    0.4."""
    slope = rng.uniform(-0.1, 0.1, 2)
    ramp = slope[0] * np.linspace(-1, 1, side)[:, None] + slope[1] * np.linspace(-1, 1, side)
    noise = rng.normal(0, 0.04, (side, side))
    value: np.ndarray = np.clip(rng.uniform(0.05, 0.2) + ramp + noise, 0, 0.4)[..., None].astype(np.float32)
    return value


def _bright_box(picture: np.ndarray, top: int, left: int, side: int) -> tuple[float, float, float, float]:
    """Return the box (top, left, bottom, right) around the bright pixels of ``picture``, as fractions of the scene.

    ``top`` and ``left`` are the position of ``picture`` in the scene, and ``side`` is the scene's side, in pixels.
    """
    rows, columns = (np.flatnonzero((picture[..., 0] > 0.3).any(axis)) for axis in (1, 0))
    return (
        (top + rows[0]) / side,
        (left + columns[0]) / side,
        (top + rows[-1] + 1) / side,
        (left + columns[-1] + 1) / side,
    )


def _free_place(
    objects: np.ndarray, size: int, side: int, rng: np.random.Generator
) -> tuple[int, int] | None:
    """Return a random position (top, left), in pixels, at which an object with sides of ``size`` pixels overlaps none
    of ``objects``. Return None after 20 tries."""
    for _ in range(20):
        top, left = (int(v) for v in rng.integers(0, side - size, 2, endpoint=True))
        box = np.array([top, left, top + size, left + size]) / side
        real = objects[objects[:, 0] >= 0, 1:]
        if not (np.minimum(real[:, 2:], box[2:]) > np.maximum(real[:, :2], box[:2])).all(1).any():
            return top, left
    return None
