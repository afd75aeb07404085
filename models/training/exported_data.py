"""Write the data of a training to files: some training samples for calibration, and all test samples for scoring."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.models.architectures.network import Network
from arenite.models.datasets.training_data import CLASSIFY, RECONSTRUCT, TrainingData
from arenite.models.training.postprocessing import postprocessing

CALIBRATION = "calibration.npz"
TEST = "test.npz"
PREPROCESSING = "preprocessing.json"
POSTPROCESSING = "postprocessing.json"
LABELS = "labels.txt"

#: The number of calibration samples. It is enough for stable ranges, and calibration takes only seconds.
CALIBRATION_SAMPLES = 512


def save_data(
    network: Network, data: TrainingData, folder: Path, count: int = CALIBRATION_SAMPLES
) -> tuple[Path, ...]:
    """Write the data to ``folder``, and return the paths of the files.

    The files are ``calibration.npz`` with ``count`` training samples, ``test.npz`` with all test samples,
    ``postprocessing.json``, and, if the data have them, ``preprocessing.json`` and ``labels.txt``. The ``.npz`` files
    have the arrays ``x`` (samples as float32 real values) and ``y`` (labels). The same data give the same files. Raises
    ``UsageError`` if a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"Cannot create the folder {folder}: {error.strerror or error}.",
            "Give another folder with --save-data.",
        ) from error
    calibration = calibration_indices(data, count)
    files: dict[str, bytes | str] = {
        CALIBRATION: _archive(data.x_train[calibration], data.y_train[calibration]),
        TEST: _archive(data.x_test, data.y_test),
        POSTPROCESSING: json.dumps(postprocessing(network, data).to_json(), indent=1) + "\n",
    }
    if data.preprocessing is not None:
        files[PREPROCESSING] = json.dumps(data.preprocessing.to_json(), indent=1) + "\n"
    if data.task != RECONSTRUCT:
        files[LABELS] = "\n".join(data.labels) + "\n"
    for name, content in files.items():
        write_atomic(folder / name, content)
    return tuple(folder / name for name in files)


def _archive(x: np.ndarray, y: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=x, y=y)
    return buffer.getvalue()


def calibration_indices(data: TrainingData, count: int) -> np.ndarray:
    """Return the indices of ``count`` training samples for calibration, in ascending order. They are chosen at random
    with seed 0; for classification, each class has equally many samples if possible."""
    order = np.random.default_rng(0).permutation(len(data.x_train))
    if data.task != CLASSIFY:
        return np.sort(order[:count])
    labels = data.y_train[order]
    rank = np.zeros(len(order), np.int64)  # position of a sample among the samples of its class
    for c in np.unique(labels):
        rank[labels == c] = np.arange(int((labels == c).sum()))
    return np.sort(order[np.argsort(rank, kind="stable")[:count]])
