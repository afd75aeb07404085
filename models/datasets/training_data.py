"""The classes for training data (the samples and labels for training and testing, the class names and the
preprocessing) and for the settings of a training."""

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
    """The number of epochs, the number of samples per step (``batch``), and the largest learning rate of Adam
    (``rate``).

    The learning rate rises during the first twentieth of the steps, and then falls along a cosine.
    """

    epochs: int
    batch: int = 64
    rate: float = 2e-3


@dataclass(frozen=True)
class TrainingData:
    """Samples for training and testing. ``x_train`` and ``x_test`` are float32 real values of shape (samples, ...).

    Attributes:
        task: The task, which determines ``y_train`` and ``y_test``. For ``CLASSIFY`` they are class numbers. For
            ``RECONSTRUCT``, training has only usual inputs, and ``y_test`` is 1 for an unusual input. For ``DETECT``
            they are arrays of shape (samples, objects, 5) with the class and the box of each object. A box is (top,
            left, bottom, right) as fractions of the picture. Unused entries have class -1.
        labels: The names of the classes.
        preprocessing: The preprocessing that converts a picture or sound to an input; None for other data.
        scaling: The mean and standard deviation of each channel for data without preprocessing; empty if unknown.
        shift: The maximum number of pixels by which training moves pictures.
        settings: The default settings of a training with this data.
        slices: Groups of test samples: one boolean per test sample, by name of the group.
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
    slices: Mapping[str, np.ndarray] = field(default_factory=dict)  # name -> one boolean per test sample

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return tuple(int(n) for n in self.x_train.shape[1:])

    @property
    def sha256(self) -> str:
        """The SHA-256 hash of all samples and labels."""
        digest = hashlib.sha256()
        for array in (self.x_train, self.y_train, self.x_test, self.y_test):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()
