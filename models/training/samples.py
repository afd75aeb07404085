"""The data of a training as files: some of the training samples to calibrate with, all of the test samples to score."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

from arenite.converters.atomic import write_atomic
from arenite.converters.errors import UsageError
from arenite.models.datasets.data import CLASSIFY, TrainingData

CALIBRATION = "calibration.npz"
TEST = "test.npz"
PREPROCESSING = "preprocessing.json"

#: Enough for ranges to settle, few enough to be observed in seconds.
CALIBRATION_SAMPLES = 512


def save_data(data: TrainingData, folder: Path, count: int = CALIBRATION_SAMPLES) -> tuple[Path, Path]:
    """Write ``calibration.npz`` (``count`` training samples) and ``test.npz`` (every test sample) to ``folder``,
    and ``preprocessing.json`` where there is one.

    Both hold ``x`` as float32 real values and ``y``. The same data give the same files. Raises ``UsageError``.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"Cannot make the folder {folder}: {error.strerror or error}.", "Give another one to --save-data."
        ) from error
    chosen = calibration_indices(data, count)
    paths = folder / CALIBRATION, folder / TEST
    for path, x, y in (
        (paths[0], data.x_train[chosen], data.y_train[chosen]),
        (paths[1], data.x_test, data.y_test),
    ):
        buffer = io.BytesIO()
        np.savez_compressed(buffer, x=x, y=y)
        write_atomic(path, buffer.getvalue())
    if data.preprocessing is not None:
        write_atomic(folder / PREPROCESSING, json.dumps(data.preprocessing.to_json(), indent=2) + "\n")
    return paths


def calibration_indices(data: TrainingData, count: int) -> np.ndarray:
    """Which training samples calibrate: chosen at random with seed 0, as many of each class as there are."""
    order = np.random.default_rng(0).permutation(len(data.x_train))
    if data.task != CLASSIFY:
        return np.sort(order[:count])
    labels = data.y_train[order]
    rank = np.zeros(len(order), np.int64)  # of a sample among those of its class
    for c in np.unique(labels):
        rank[labels == c] = np.arange(int((labels == c).sum()))
    return np.sort(order[np.argsort(rank, kind="stable")[:count]])
