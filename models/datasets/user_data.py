"""Read the user's labelled training samples from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arenite.array_files import read_arrays
from arenite.errors import UsageError
from arenite.models.datasets.pictures import resize_images
from arenite.models.datasets.training_data import CLASSIFY, TrainingData, TrainingSettings

_HINT = "Write it with numpy.savez(path, x=..., y=...), and with x_test and y_test if you have test samples."

#: With the default number of epochs, a training takes about this number of steps of 64 samples. So fewer samples get
#: more epochs.
_TRAINING_STEPS = 3000


def user_data(path: Path, resolution: int | None = None) -> TrainingData:
    """Return the samples in an ``.npz`` file as data for classification.

    The file has the arrays ``x`` (samples) and ``y`` (class numbers from 0 on), and may have ``x_test`` and
    ``y_test``. If it does not, every fifth sample is used for testing. uint8 pictures are scaled to 0 to 1 and
    resized to ``resolution``. Other values are not changed. Raises ``UsageError`` for a file with missing or wrong
    arrays.
    """
    arrays = _read(path)
    x, y = arrays["x"], arrays["y"]
    _check(path, "x and y", x, y)
    if "x_test" in arrays and "y_test" in arrays:
        x_test, y_test = arrays["x_test"], arrays["y_test"]
        _check(path, "x_test and y_test", x_test, y_test)
    else:
        test = np.arange(len(x)) % 5 == 4
        x, y, x_test, y_test = x[~test], y[~test], x[test], y[test]
    if x.shape[1:] != x_test.shape[1:] or not len(x_test):
        raise UsageError(f"{path}: x has the shape {x.shape}, and x_test has {x_test.shape}.", _HINT)
    spec = None
    if x.dtype == np.uint8 and x.ndim == 4 and x.shape[3] in (1, 3):
        x, spec = resize_images(x, resolution, largest=255.0)
        x_test, _ = resize_images(x_test, resolution, largest=255.0)
    else:
        if resolution is not None:
            raise UsageError(
                f"{path} has no pictures that can be resized. They must be uint8 (samples, height, width, channels).",
                "Remove --resolution, and give the samples in the size of the network's input.",
            )
    classes = int(max(y.max(), y_test.max())) + 1
    return TrainingData(
        name=str(path),
        title=f"{len(x):,} samples of {path.name}",
        task=CLASSIFY,
        x_train=x.astype(np.float32),
        y_train=y.astype(np.int64),
        x_test=x_test.astype(np.float32),
        y_test=y_test.astype(np.int64),
        labels=tuple(str(c) for c in range(classes)),
        licence="the user's",
        settings=TrainingSettings(epochs=int(np.clip(_TRAINING_STEPS * 64 // len(x), 2, 200))),
        preprocessing=spec,
    )


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        arrays = read_arrays(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"Cannot read {path}: {error}.", _HINT) from error
    for name in ("x", "y"):
        if name not in arrays:
            raise UsageError(f"{path} has no array '{name}'; it has {', '.join(arrays) or 'none'}.", _HINT)
    return arrays


def _check(path: Path, name: str, x: np.ndarray, y: np.ndarray) -> None:
    """Raise ``UsageError`` unless ``x`` are samples and ``y`` their class numbers. ``name`` names both arrays."""
    if x.ndim < 2 or y.ndim != 1 or y.dtype.kind not in "iu" or len(x) != len(y) or not len(y):
        raise UsageError(f"{path}: {name} are not samples with one class number each.", _HINT)
    if y.min() < 0 or y.max() > 9999:
        raise UsageError(f"{path}: {name} have class numbers outside 0 to 9999.", _HINT)
    if x.dtype.kind not in "fiu" or not np.isfinite(x).all():
        raise UsageError(f"{path}: {name} have values that are not finite numbers.", _HINT)
