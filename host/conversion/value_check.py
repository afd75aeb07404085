"""Check the values of samples before a framework starts, as far as this takes little time. What is left is checked
when the samples are loaded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from arenite.converters.graph.model import Tensor
from arenite.converters.processing.media_files import preprocess_file
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.quantize.dataset.sample_files import ARRAYS, RawData, read_file
from arenite.converters.quantize.dataset.sample_folders import (
    is_motion_recording,
    read_folder,
    sample_paths,
)
from arenite.converters.quantize.dataset.sample_values import (
    check_finite,
    check_numbers,
    check_varies,
    class_numbers,
    reshape_samples,
    varies,
)
from arenite.errors import UsageError

#: Larger files of arrays are not read before the import: reading and checking this many bytes takes half a second.
MAX_BYTES = 64 << 20
#: The time for decoding pictures and recordings, in seconds.
MAX_SECONDS = 0.7


def check_arrays(
    path: Path, layouts: Sequence[Sequence[Tensor]], spec: Preprocessing | None, *, calibration: bool
) -> None:
    """Raise ``UsageError`` if the arrays at ``path`` (a file or a folder) fit none of the ``layouts`` of the inputs,
    have values that are no finite numbers, or are all the same and meant for ``calibration``.

    The types of the inputs in ``layouts`` are not used. Recordings that ``spec`` converts are not checked.
    """
    files = sample_paths(path, True) if path.is_dir() else [path]
    if path.is_dir() and _is_motion(files[0], spec):
        return
    if files[0].suffix.lower() not in ARRAYS or sum(file.stat().st_size for file in files) > MAX_BYTES:
        return
    errors = []
    for tensors in layouts:
        raw = read_folder(path, tensors, None, None) if path.is_dir() else read_file(path, tensors)
        try:
            _check_values(str(path), raw, tensors, calibration=calibration)
            return
        except UsageError as error:
            errors.append(error)
    raise errors[0]


def _is_motion(path: Path, spec: Preprocessing | None) -> bool:
    """Return whether ``spec`` converts the array at ``path``, which is a recording of a motion sensor."""
    if spec is None or not isinstance(spec.source, ImuSource):
        return False
    return is_motion_recording(path, spec.source.axes)


def _check_values(where: str, raw: RawData, tensors: Sequence[Tensor], *, calibration: bool) -> None:
    names = ["x"] if len(tensors) == 1 else [f"x{i}" for i in range(len(tensors))]
    columns = []
    for name, array, tensor in zip(names, raw.columns, tensors, strict=True):
        array = reshape_samples(where, name, array, tensor)
        check_numbers(where, name, array)
        check_finite(where, name, array)
        columns.append(array)
    if calibration:
        varying = {i for i, column in enumerate(columns) if varies(column)}
        for i, (name, column) in enumerate(zip(names, columns, strict=True)):
            check_varies(where, name, column, alone=not varying - {i})
    if raw.labels is not None:
        class_numbers(where, raw.labels, raw.classes)


def check_files(path: Path, spec: Preprocessing, tensor: Tensor) -> None:
    """Raise ``UsageError`` if a picture or recording in the folder ``path`` cannot be converted to the input ``tensor``
    with the preprocessing ``spec``. As many files are tried as ``MAX_SECONDS`` permit."""
    if not path.is_dir():
        return
    end = time.monotonic() + MAX_SECONDS
    for file in sample_paths(path, True):
        is_array = file.suffix.lower() in ARRAYS and not _is_motion(file, spec)
        if is_array or time.monotonic() > end:
            return
        preprocess_file(spec.real, file, tensor.shape)
