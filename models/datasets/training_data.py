"""What a trainer needs of data: real inputs and targets, split, with the names and the preprocessing that go along."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arenite.converters.processing.specification.preprocessing import Preprocessing

CLASSIFY, RECONSTRUCT, DETECT = "classify", "reconstruct", "detect"


@dataclass(frozen=True)
class TrainingSettings:
    """How long and how fast to learn: passes over the data, samples per step, the largest rate of Adam, which rises
    over the first twentieth of the steps and then falls along a cosine."""

    epochs: int
    batch: int = 64
    rate: float = 2e-3


@dataclass(frozen=True)
class TrainingData:
    """Samples for training and testing, as float32 real values, (samples, ...) without a batch.

    ``task`` is ``CLASSIFY``: ``y`` has class numbers. ``RECONSTRUCT``: training has usual inputs only, ``y_test`` is 1
    where an input is unusual. ``DETECT``: ``y`` is (samples, objects, 5), class and box (top, left, bottom, right as
    shares of the picture) of each object, and a class of -1 where there are fewer.

    ``preprocessing`` is how an input was made of a picture or of sound; None for other data, of which ``scaling`` may
    have the mean and the spread of each channel.
    ``shift``: training may move pictures by up to so many pixels. ``settings`` are those that suit the data.
    """

    name: str
    title: str
    task: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    labels: tuple[str, ...]
    licence: str
    settings: TrainingSettings
    preprocessing: Preprocessing | None = None
    scaling: Mapping[str, Any] = field(default_factory=dict)
    shift: int = 0
    slices: Mapping[str, np.ndarray] = field(default_factory=dict)  # of the test samples: a truth value each

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return tuple(int(n) for n in self.x_train.shape[1:])

    @property
    def sha256(self) -> str:
        """Of all samples and targets: the same data give the same hash."""
        digest = hashlib.sha256()
        for array in (self.x_train, self.y_train, self.x_test, self.y_test):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()
