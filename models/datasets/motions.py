"""BasicMotions: recordings from a smart watch while people stand, walk, run and play badminton.

There are 80 recordings, half of them for training. A recording has 100 steps at 10 Hz and six channels: acceleration
along and rotation about three axes. Each recording is cut into overlapping windows (50 steps for classification, 16 for
the auto-encoder), because 40 recordings are few for training. All windows of a recording are either for training or for
testing.
"""

from __future__ import annotations

import numpy as np

from arenite.errors import ToolError
from arenite.models.datasets.fixed_size import reject_resolution
from arenite.models.datasets.training_data import CLASSIFY, RECONSTRUCT, TrainingData, TrainingSettings
from arenite.models.manifest import manifest
from arenite.models.package_members import package_members

LABELS = ("Standing", "Running", "Walking", "Badminton")
STEPS, CHANNELS = 100, 6
#: The length of the windows for classification, and the distance between their beginnings, in steps.
WINDOW, HOP = 50, 5
UNUSUAL = LABELS.index("Badminton")

#: The length of the auto-encoder's windows, and the distance between their beginnings, in steps. The windows are short,
#: so that unusual motion is reported soon.
ANOMALY_WINDOW, ANOMALY_HOP = 16, 4


def motions(resolution: int | None = None, progress: bool = True) -> TrainingData:
    """Return windows of five seconds with the shape (50, 1, 6), of four classes of motion. Each channel is scaled
    with its mean and standard deviation in the training data."""
    reject_resolution("motions", resolution)
    (x_train, y_train), (x_test, y_test), licence = recordings(progress)
    mean, std = _mean_and_std(x_train)
    train, test = (_windows((x - mean) / std, WINDOW, HOP) for x in (x_train, x_test))
    return TrainingData(
        name="motions",
        title=f"BasicMotions: windows of {WINDOW} steps at 10 Hz, six channels",
        task=CLASSIFY,
        x_train=train.reshape(-1, WINDOW, 1, CHANNELS),
        y_train=np.repeat(y_train, len(train) // len(y_train)),
        x_test=test.reshape(-1, WINDOW, 1, CHANNELS),
        y_test=np.repeat(y_test, len(test) // len(y_test)),
        labels=LABELS,
        licence=licence,
        settings=TrainingSettings(epochs=40, batch=32),
        scaling={"mean": mean.tolist(), "std": std.tolist()},
    )


def motion_anomalies(resolution: int | None = None, progress: bool = True) -> TrainingData:
    """Return data to detect unusual motion: windows of 16 steps with the shape (96,). The training data are windows of
    standing, walking and running. The test data are windows of all four classes, in which badminton is labeled
    unusual."""
    reject_resolution("motion_anomalies", resolution)
    (x_train, y_train), (x_test, y_test), licence = recordings(progress)
    usual = x_train[y_train != UNUSUAL]
    mean, std = _mean_and_std(usual)
    train, test = (_windows((x - mean) / std, ANOMALY_WINDOW, ANOMALY_HOP) for x in (usual, x_test))
    unusual = np.repeat(y_test == UNUSUAL, len(test) // len(y_test)).astype(np.int64)
    return TrainingData(
        name="motion_anomalies",
        title=f"BasicMotions: windows of {ANOMALY_WINDOW} steps; standing, walking and running are usual, "
        "badminton is not",
        task=RECONSTRUCT,
        x_train=train.reshape(-1, ANOMALY_WINDOW * CHANNELS),
        y_train=np.zeros(len(train), np.int64),
        x_test=test.reshape(-1, ANOMALY_WINDOW * CHANNELS),
        y_test=unusual,
        labels=("usual", "unusual"),
        licence=licence,
        settings=TrainingSettings(epochs=40, batch=32),
        scaling={"mean": mean.tolist(), "std": std.tolist()},
    )


def read_ts(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the recordings, an array of shape (cases, steps, channels), and their class numbers, from the text of a
    file in the format of the UEA archive.

    After ``@data``, each line is a case (one recording): its channels and its class, separated by colons. Raises
    ``ToolError`` for another format.
    """
    lines = text.partition("@data")[2].split()
    try:
        cases = [line.split(":") for line in lines]
        x = np.array([[c.split(",") for c in case[:-1]] for case in cases], np.float32)
        y = np.array([LABELS.index(case[-1]) for case in cases])
    except ValueError as error:
        raise ToolError(
            f"A file of the BasicMotions data set cannot be read: {error}.",
            "Delete the folder 'datasets' in ~/.cache/arenite (or $ARENITE_CACHE). It is then downloaded again.",
        ) from error
    if x.shape[1:] != (CHANNELS, STEPS):
        raise ToolError(
            f"BasicMotions has recordings of shape {x.shape[1:]}, not {(CHANNELS, STEPS)}.",
            "Delete the folder 'datasets' in ~/.cache/arenite (or $ARENITE_CACHE). It is then downloaded again.",
        )
    return x.transpose(0, 2, 1), y


def recordings(
    progress: bool = True,
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray], str]:
    """Return the results of ``read_ts`` for the training and for the test recordings, and the licence of the data."""
    files = manifest().datasets["motions"]
    train, test = package_members(files, "datasets", progress=progress)
    return read_ts(train.decode("utf-8")), read_ts(test.decode("utf-8")), files.licence


def _mean_and_std(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation of each channel of ``x`` (cases, steps, channels)."""
    return x.mean((0, 1)), x.std((0, 1))


def _windows(x: np.ndarray, length: int, hop: int) -> np.ndarray:
    """Cut ``x`` (cases, steps, channels) into windows of ``length`` steps that begin every ``hop`` steps. Return them
    as an array of shape (cases * windows, length, channels), in which the windows of a case are adjacent."""
    views = np.lib.stride_tricks.sliding_window_view(x, length, axis=1)[:, ::hop]
    return np.ascontiguousarray(views.transpose(0, 1, 3, 2).reshape(-1, length, x.shape[2]))
