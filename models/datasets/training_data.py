"""Data for training: inputs and targets of training and test, class names and preprocessing."""

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
    """Number of epochs, samples per step, and the largest learning rate of Adam.

    The learning rate rises during the first twentieth of the steps, and then falls along a cosine.
    """

    epochs: int
    batch: int = 64
    rate: float = 2e-3


@dataclass(frozen=True)
class TrainingData:
    """Samples for training and testing, as float32 real values of shape (samples, ...).

    Attributes:
        task: what ``y`` is. ``CLASSIFY``: class numbers. ``RECONSTRUCT``: training has only usual inputs, and
        ``y_test``
            is 1 if an input is unusual. ``DETECT``: (samples, objects, 5) with class and box of each object. A box is
            top, left, bottom, right as fractions of the picture. Unused entries have class -1.
        preprocessing: converts a picture or sound to an input; None for other data.
        scaling: mean and standard deviation of each channel for data without preprocessing, or empty.
        shift: the largest number of pixels by which training may move pictures.
        settings: the default settings for this data.
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
        """The hash of all samples and targets."""
        digest = hashlib.sha256()
        for array in (self.x_train, self.y_train, self.x_test, self.y_test):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()
