"""scikit-learn's handwritten digits: 1,797 pictures of 8x8, the last quarter kept for the test."""

from __future__ import annotations

import gzip

import numpy as np

from arenite.models.datasets.pictures import resize_images
from arenite.models.datasets.training_data import CLASSIFY, TrainingData, TrainingSettings
from arenite.models.manifest import manifest
from arenite.models.package_members import package_members

TRAINING = 1347


def digits(resolution: int | None = None, progress: bool = True) -> TrainingData:
    """Pixels of 0 to 16 as 0 to 1. The writers of the test quarter are mostly others than those before."""
    files = manifest().datasets["digits"]
    (packed,) = package_members(files, "datasets", progress=progress)
    rows = np.loadtxt(gzip.decompress(packed).decode("ascii").splitlines(), delimiter=",", dtype=np.float32)
    pixels, y = rows[:, :-1].reshape(-1, 8, 8, 1).astype(np.uint8), rows[:, -1].astype(np.int64)
    x, spec = resize_images(pixels, resolution, largest=16.0)
    return TrainingData(
        name="digits",
        title=files.title,
        task=CLASSIFY,
        x_train=x[:TRAINING],
        y_train=y[:TRAINING],
        x_test=x[TRAINING:],
        y_test=y[TRAINING:],
        labels=tuple("0123456789"),
        licence=files.licence,
        settings=TrainingSettings(epochs=40, batch=32),
        preprocessing=spec,
        shift=1,
    )
