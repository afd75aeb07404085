"""Data for training: real inputs and targets, split into training and test, with class names and preprocessing."""

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
    """Epochs, samples per step, and the largest learning rate of Adam, which rises over the first twentieth of the
    steps and then falls along a cosine."""

    epochs: int
    batch: int = 64
    rate: float = 2e-3


@dataclass(frozen=True)
class TrainingData:
    """Samples for training and testing, as float32 real values, (samples, ...) without a batch.

    ``task`` is ``CLASSIFY``: ``y`` has class numbers. ``RECONSTRUCT``: training has usual inputs only, ``y_test`` is 1
    where an input is unusual. ``DETECT``: ``y`` is (samples, objects, 5), class and box (top, left, bottom, right as
    shares of the picture) of each object, and a class of -1 where there are fewer.

    ``preprocessing`` turns a picture or sound into an input; None for other data, for which ``scaling`` may have the
    mean and the standard deviation of each channel.
    ``shift``: training may move pictures by up to this number of pixels. ``settings`` are those that suit the data.
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
        """The digest of all samples and targets: equal data give equal digests."""
        digest = hashlib.sha256()
        for array in (self.x_train, self.y_train, self.x_test, self.y_test):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()
