"""Make the samples of the comparison: pictures of gratings, masks of blobs, waveforms, and rows of measurements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

TRAINING, CALIBRATION, TEST = 4000, 256, 1000
#: The number of further test samples, and their number for the task "blobs", whose samples have a class per pixel.
MORE_TEST, MORE_TEST_PICTURES = 10_000, 1000
SIDE = 24


@dataclass(frozen=True)
class Task:
    """The samples of a task: ``x`` float32, and ``y``, which are class numbers, class maps or values."""

    x: np.ndarray
    y: np.ndarray

    def save(self, path: Path) -> None:
        """Write the training, calibration and test samples to one ``.npz`` file."""
        first, second = TRAINING, TRAINING + CALIBRATION
        np.savez(
            path,
            x_train=self.x[:first],
            y_train=self.y[:first],
            x_calibration=self.x[first:second],
            y_calibration=self.y[first:second],
            x_test=self.x[second:],
            y_test=self.y[second:],
        )


def tasks(count: int = TRAINING + CALIBRATION + TEST, stream: int = 0) -> dict[str, Task]:
    """Return ``count`` samples of each task. They are the same in every run. Each ``stream`` has other samples."""
    return {
        "gratings": gratings(count, stream),
        "blobs": blobs(count, stream),
        "waves": waves(count, stream),
        "rows": rows(count, stream),
        "patches": patches(count, stream),
    }


def more_test_samples() -> dict[str, Task]:
    """Return samples of each task that are not among ``tasks``."""
    more = tasks(MORE_TEST, 1)
    return more | {"blobs": Task(more["blobs"].x[:MORE_TEST_PICTURES], more["blobs"].y[:MORE_TEST_PICTURES])}


def _generator(seed: int, stream: int) -> np.random.Generator:
    return np.random.default_rng(seed if stream == 0 else (seed, stream))


def gratings(count: int, stream: int = 0, side: int = SIDE) -> Task:
    """Return pictures [count, side, side, 1] of noisy stripes, and the numbers of their 8 directions."""
    rng = _generator(1, stream)
    labels = rng.integers(0, 8, count)
    angle = (labels + rng.normal(0, 0.16, count)) * np.pi / 8
    frequency, phase = rng.uniform(0.35, 0.9, count), rng.uniform(0, 2 * np.pi, count)
    v, u = np.mgrid[:side, :side]
    position = u * np.cos(angle)[:, None, None] + v * np.sin(angle)[:, None, None]
    waves = np.sin(position * frequency[:, None, None] + phase[:, None, None])
    contrast = rng.uniform(0.15, 0.5, count)[:, None, None]
    x = 0.5 + contrast * waves + rng.normal(0, 0.25, (count, side, side))
    return Task(np.clip(x, 0, 1)[..., None].astype(np.float32), labels.astype(np.int64))


def patches(count: int, stream: int = 0) -> Task:
    """Return rows [count, 144] of small pictures of stripes, which are also the targets of an auto-encoder."""
    x = gratings(count, stream, 12).x.reshape(count, -1)
    return Task(x, x)


def blobs(count: int, stream: int = 0) -> Task:
    """Return pictures [count, SIDE, SIDE, 1] of bright discs, and the map of their pixels (1 inside a disc)."""
    rng = _generator(2, stream)
    v, u = np.mgrid[:SIDE, :SIDE]
    masks = np.zeros((count, SIDE, SIDE), bool)
    for _ in range(3):
        centre = rng.uniform(2, SIDE - 2, (2, count, 1, 1))
        radius = rng.uniform(2, 6, (count, 1, 1))
        masks |= (u - centre[0]) ** 2 + (v - centre[1]) ** 2 < radius**2
    brightness = rng.uniform(0.25, 0.6, (count, 1, 1))
    slope = rng.uniform(-0.3, 0.3, (2, count, 1, 1))
    x = 0.2 + brightness * masks + slope[0] * u / SIDE + slope[1] * v / SIDE
    x = x + rng.normal(0, 0.15, x.shape)
    return Task(np.clip(x, 0, 1)[..., None].astype(np.float32), masks.astype(np.int64))


def waves(count: int, stream: int = 0, length: int = 128) -> Task:
    """Return signals [count, length, 1] and the numbers of their 5 forms: sine, square, saw, chirp or noise."""
    rng = _generator(3, stream)
    labels = rng.integers(0, 5, count)
    t = np.arange(length)[None] / length
    turns = rng.uniform(2, 9, (count, 1)) * t + rng.uniform(0, 1, (count, 1))
    sine = np.sin(2 * np.pi * turns)
    forms = [
        sine,
        np.sign(sine),
        2 * (turns % 1) - 1,
        np.sin(2 * np.pi * (turns + rng.uniform(4, 12, (count, 1)) * t**2)),
        rng.normal(0, 0.7, (count, length)),
    ]
    x = np.stack(forms)[labels, np.arange(count)] * rng.uniform(0.2, 1, (count, 1))
    x = x + rng.normal(0, 0.25, x.shape)
    return Task(x[..., None].astype(np.float32), labels.astype(np.int64))


def rows(count: int, stream: int = 0, columns: int = 40) -> Task:
    """Return rows [count, columns] of measurements with long-tailed noise, and the numbers of their 10 classes."""
    rng = np.random.default_rng(4)
    centres = rng.normal(0, 1, (10, columns)) * rng.uniform(0.1, 1.5, columns)
    if stream:  # every stream has the same classes
        rng = _generator(4, stream)
    labels = rng.integers(0, 10, count)
    x = centres[labels] + rng.standard_t(3, (count, columns)) * 0.9
    return Task(x.astype(np.float32), labels.astype(np.int64))
