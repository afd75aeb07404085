"""Read the samples of a motion sensor, or of another sensor with several channels, from NumPy and CSV files."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import numpy as np

from arenite.errors import UsageError

MOTION_SUFFIXES = (".npy", ".npz", ".csv")
#: The largest file in bytes. It has room for nine hours of three axes at 100 samples per second.
MAX_MOTION_BYTES = 64 << 20
#: The name of the array in an .npz file that has several.
SAMPLES = "samples"
_TIME_NAMES = ("time", "timestamp", "seconds", "ms", "t")


def read_motion(path: str | Path, axes: int) -> np.ndarray:
    """Return the samples of a motion sensor in a file as int16 [moments, axes].

    A .npy file has an int16 array of this shape, and an .npz file has it as its only array or under the name
    ``samples``. A .csv file has a line per moment with an integer per axis; a first line with names is allowed, and
    with it a first column of times, which is ignored.

    Raises ``UsageError`` if the file cannot be read or has another shape or type.
    """
    path = Path(path)
    advice = (
        f"Save int16 values of shape [moments, {axes}] with numpy.save, or {axes} integers per line as CSV."
    )
    try:
        size = path.stat().st_size
        if size > MAX_MOTION_BYTES:
            raise UsageError(f"{path} has more than {MAX_MOTION_BYTES:,} bytes.", "Cut it into parts.")
        is_csv = path.suffix.lower() == ".csv"
        samples = _csv_samples(path, axes) if is_csv else _array(np.load(path, allow_pickle=False), path)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise UsageError(f"Cannot read the samples {path}: {error}.", advice) from error
    if samples.dtype != np.int16:
        raise UsageError(f"{path} has {samples.dtype}, expected int16.", advice)
    if samples.ndim == 1 and axes == 1:
        samples = samples[:, np.newaxis]
    if samples.ndim != 2 or samples.shape[1] != axes:
        shape = "x".join(map(str, samples.shape))
        raise UsageError(f"{path} has the shape {shape}, expected moments of {axes} axes.", advice)
    return samples


def _array(content: object, path: Path) -> np.ndarray:
    """Return the array of samples in what ``numpy.load`` returned."""
    if isinstance(content, np.ndarray):
        return content
    assert isinstance(content, np.lib.npyio.NpzFile)
    with content:
        names = content.files
        if SAMPLES not in names and len(names) != 1:
            raise UsageError(
                f"{path} has several arrays: {', '.join(names)[:200]}.",
                f"Save one array, or call the one with the samples '{SAMPLES}'.",
            )
        return np.asarray(content[SAMPLES if SAMPLES in names else names[0]])


def _csv_samples(path: Path, axes: int) -> np.ndarray:
    """Return the samples in a CSV file. Raises ``ValueError`` or ``UsageError`` with the line of the first mistake."""
    rows = csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig")))
    samples: list[list[int]] = []
    first = 0  # column
    for row in rows:
        if not row:
            continue
        if not samples and not _is_number(row[0]):
            first = int(len(row) == axes + 1 and row[0].strip().lower() in _TIME_NAMES)
            continue
        values = row[first:]
        if len(values) != axes:
            raise UsageError(
                f"{path}, line {rows.line_num}: there are {len(values)} values, expected {axes}.",
                "Give one integer per axis, separated by commas.",
            )
        try:
            numbers = [int(value) for value in values]
        except ValueError:
            raise UsageError(
                f"{path}, line {rows.line_num}: '{','.join(values)[:60]}' are not all integers.",
                "Give the sensor's own counts, not values in units such as g.",
            ) from None
        if min(numbers) < -32768 or max(numbers) > 32767:
            raise UsageError(
                f"{path}, line {rows.line_num}: a value is outside the range of int16, -32768 to 32767.",
                "Give the sensor's own counts.",
            )
        samples.append(numbers)
    return np.array(samples, np.int16).reshape(-1, axes)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
