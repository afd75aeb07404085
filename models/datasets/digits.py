"""scikit-learn's handwritten digits: 1,797 pictures of 8x8 pixels. The last quarter of them is used for testing."""

from __future__ import annotations

import gzip

import numpy as np

from arenite.models.datasets.pictures import resize_images
from arenite.models.datasets.training_data import CLASSIFY, TrainingData, TrainingSettings
from arenite.models.manifest import manifest
from arenite.models.package_members import package_members

TRAINING_SAMPLES = 1347


def digits(resolution: int | None = None, progress: bool = True) -> TrainingData:
    """Return the digits. Their pixels, which are from 0 to 16, are scaled to 0 to 1. Most test digits were written by
    people who wrote no training digits."""
    files = manifest().datasets["digits"]
    (compressed,) = package_members(files, "datasets", progress=progress)
    rows = np.loadtxt(
        gzip.decompress(compressed).decode("ascii").splitlines(), delimiter=",", dtype=np.float32
    )
    pixels, y = rows[:, :-1].reshape(-1, 8, 8, 1).astype(np.uint8), rows[:, -1].astype(np.int64)
    x, spec = resize_images(pixels, resolution, largest=16.0)
    return TrainingData(
        name="digits",
        title=files.title,
        task=CLASSIFY,
        x_train=x[:TRAINING_SAMPLES],
        y_train=y[:TRAINING_SAMPLES],
        x_test=x[TRAINING_SAMPLES:],
        y_test=y[TRAINING_SAMPLES:],
        labels=tuple("0123456789"),
        licence=files.licence,
        settings=TrainingSettings(epochs=40, batch=32),
        preprocessing=spec,
        shift=1,
    )
