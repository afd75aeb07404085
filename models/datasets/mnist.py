"""MNIST: 60,000 handwritten digits of 28x28 pixels for training, and the full test set of 10,000 digits."""

from __future__ import annotations

import struct

import numpy as np

from arenite.errors import ToolError
from arenite.models.datasets.pictures import resize_images
from arenite.models.datasets.training_data import CLASSIFY, TrainingData, TrainingSettings
from arenite.models.manifest import manifest
from arenite.models.package_members import package_members


def mnist(resolution: int | None = None, progress: bool = True) -> TrainingData:
    """Return the digits. Their pixels, which are from 0 to 255, are scaled to 0 to 1."""
    files = manifest().datasets["mnist"]
    train, y_train, test, y_test = (
        read_idx(f) for f in package_members(files, "datasets", progress=progress)
    )
    x_train, spec = resize_images(train[..., np.newaxis], resolution, largest=255.0)
    x_test, _ = resize_images(test[..., np.newaxis], resolution, largest=255.0)
    return TrainingData(
        name="mnist",
        title=files.title,
        task=CLASSIFY,
        x_train=x_train,
        y_train=y_train.astype(np.int64),
        x_test=x_test,
        y_test=y_test.astype(np.int64),
        labels=tuple("0123456789"),
        licence=files.licence,
        settings=TrainingSettings(epochs=4),
        preprocessing=spec,
        shift=2,
    )


def read_idx(data: bytes) -> np.ndarray:
    """Return the uint8 array in ``data``, which has the IDX format: two zero bytes, the type (8), the number of
    dimensions, each dimension as a big-endian uint32, and the values.

    Raises ``ToolError`` for data in another format.
    """
    rank = data[3] if len(data) >= 4 and data[:3] == b"\0\0\x08" else 0
    start = 4 + 4 * rank
    shape = struct.unpack(f">{rank}I", data[4:start]) if 0 < rank <= 4 and len(data) >= start else ()
    if not shape or int(np.prod(shape)) != len(data) - start:
        raise ToolError(
            "A file of MNIST is not an IDX array of bytes.",
            "Delete the folder 'datasets' in ~/.cache/arenite (or $ARENITE_CACHE). It is then downloaded again.",
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)
