"""Read labelled samples from a folder: .npz and .npy files, pictures or recordings. Sub-folders are classes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.converters.quantize.dataset.sample_files import (
    ARRAYS,
    PICTURES,
    RECORDINGS,
    Preprocessing,
    RawData,
    evenly_spread_indices,
    limited,
    read_file,
)
from arenite.errors import UsageError


def read_folder(
    folder: Path,
    tensors: Sequence[Tensor],
    limit: int | None,
    preprocessing: Preprocessing | None,
    axes: int | None = None,
) -> RawData:
    """Read every sample file in ``folder`` and its sub-folders, which are classes. With ``axes``, arrays may be
    recordings of a motion sensor. Raises ``UsageError`` if there are no samples, or if samples do not fit together or
    do not fit the inputs ``tensors``."""
    files = sample_paths(folder, preprocessing is not None)
    is_motion = axes is not None and is_motion_recording(files[0], axes)
    if preprocessing is None or (_kind(files[0]) == "arrays" and not is_motion):
        return limited(_array_file_samples(folder, files, tensors), folder, limit)
    chosen = [files[k] for k in evenly_spread_indices(len(files), limit)]
    samples = [_preprocess(p, preprocessing, len(tensors)) for p in chosen]
    shapes = {tuple(a.shape for a in sample) for sample in samples}
    if len(shapes) > 1:
        raise UsageError(
            f"{folder}: preprocessing gives samples of different shapes: {', '.join(map(str, sorted(shapes)[:3]))}.",
            "Add a step that resizes every sample to the model's input.",
        )
    columns = [np.stack([s[i] for s in samples]) for i in range(len(tensors))]
    labels, classes = classes_of(folder, chosen, files)
    digest = _hash_files(folder, chosen)
    notes = (
        (f"{folder}: {len(chosen):,} of {len(files):,} files are used, evenly spread.",)
        if len(chosen) < len(files)
        else ()
    )
    return RawData(columns, labels, {}, digest, [None] * len(tensors), classes, notes)


def sample_paths(folder: Path, has_preprocessing: bool) -> list[Path]:
    """Return the sample files under ``folder``, which are of one kind, in alphabetical order.

    ``has_preprocessing`` says whether pictures and recordings can be converted to tensors. Raises ``UsageError`` if
    there are no samples, several kinds of files, or files that cannot be converted.
    """
    suffixes = PICTURES | RECORDINGS | ARRAYS
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix.lower() in suffixes)
    files = [p for p in files if not any(part.startswith(".") for part in p.relative_to(folder).parts)]
    if not files:
        raise UsageError(
            f"{folder} has no samples.",
            "Put .npz or .npy files, pictures (.png, .jpg, .bmp) or recordings (.wav) in it.",
        )
    kinds = {_kind(p) for p in files}
    if len(kinds) > 1:
        raise UsageError(
            f"{folder} mixes {' and '.join(sorted(kinds))}.", "Keep one kind of file in a folder of samples."
        )
    if kinds != {"arrays"} and not has_preprocessing:
        raise _preprocessing_is_unknown(folder, kinds.pop())
    return files


def is_motion_recording(path: Path, axes: int) -> bool:
    """Return whether the file at ``path`` has int16 samples [moments, ``axes``] of a motion sensor, as those of
    ``arenite record``, and not values of the model's input."""
    if path.suffix.lower() != ".npy":
        return False
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        return False  # the reader of arrays tells what is wrong
    return bool(array.dtype == np.int16 and array.ndim == 2 and array.shape[1] == axes)


def _preprocessing_is_unknown(folder: Path, kind: str) -> UsageError:
    """Return the error for pictures or recordings that cannot be converted to tensors."""
    hint = (
        "Describe the steps of training in a file with --preprocessing (docs/processing.md has examples), or give "
        "tensors in an .npz file."
    )
    if kind == "pictures":
        hint = (
            "Give --pixels with the range of values that the model was trained on: 0..1, -1..1, 0..255 or imagenet. "
            "For other steps, describe them in a file with --preprocessing (docs/processing.md has examples), or give "
            "tensors in an .npz file."
        )
    return UsageError(f"{folder} has {kind}, but this model's preprocessing is not known.", hint)


def _kind(path: Path) -> str:
    suffix = path.suffix.lower()
    return "pictures" if suffix in PICTURES else "recordings" if suffix in RECORDINGS else "arrays"


def _preprocess(path: Path, preprocessing: Preprocessing, inputs: int) -> list[np.ndarray]:
    """Return the preprocessed file: one float32 array per input."""
    arrays = [np.asarray(a, np.float32) for a in preprocessing(path)]
    if len(arrays) != inputs:
        raise UsageError(
            f"{path}: the preprocessing gives {len(arrays)} arrays for {inputs} inputs.",
            "Give the tensors in an .npz file with x0, x1, ...",
        )
    return arrays


def _array_file_samples(folder: Path, files: Sequence[Path], tensors: Sequence[Tensor]) -> RawData:
    """Return the samples of several .npz and .npy files as one data set. If the files have no labels, the sub-folders
    are the labels."""
    parts = [read_file(p, tensors) for p in files]
    for p, part in zip(files, parts, strict=True):
        for i, column in enumerate(part.columns):
            first = parts[0].columns[i]
            if column.shape[1:] != first.shape[1:] or column.dtype != first.dtype:
                raise UsageError(
                    f"{p} has {column.dtype} samples of shape {column.shape[1:]}; "
                    f"{files[0].name} has {first.dtype} of {first.shape[1:]}.",
                    "All files of a folder must hold samples of one shape and type.",
                )
        if part.stated != parts[0].stated:
            raise UsageError(
                f"{p} has another scale or zero point than {files[0].name}.",
                "Write the same values in every file.",
            )
        same_labels = (part.labels is None) == (parts[0].labels is None) and set(part.more_labels) == set(
            parts[0].more_labels
        )
        if not same_labels or set(part.slices) != set(parts[0].slices):
            raise UsageError(
                f"{p} has other labels or slices than {files[0].name}.",
                "Write the same arrays in every file.",
            )
    columns = [np.concatenate([part.columns[i] for part in parts]) for i in range(len(tensors))]
    classes: tuple[str, ...] = ()
    labels: np.ndarray | None
    if parts[0].labels is not None:
        labels = np.concatenate([part.labels for part in parts if part.labels is not None])
    else:
        per_file, classes = classes_of(folder, files, files)
        counts = [len(part.columns[0]) for part in parts]
        labels = None if per_file is None else np.repeat(per_file, counts)
    slices = {name: np.concatenate([part.slices[name] for part in parts]) for name in parts[0].slices}
    more_labels = {k: np.concatenate([part.more_labels[k] for part in parts]) for k in parts[0].more_labels}
    return RawData(
        columns, labels, slices, _hash_files(folder, files), parts[0].stated, classes, more_labels=more_labels
    )


def classes_of(
    folder: Path, chosen: Sequence[Path], files: Sequence[Path]
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Return (class number of each ``chosen`` file, names of the classes), or (None, ()) if the files are in ``folder``
    itself.

    If the folder has a file ``labels.txt``, the file has the names of the classes in order. Otherwise, if the names of
    all sub-folders are numbers, these are the class numbers, and classes have no names. Otherwise the classes are in
    alphabetical order.
    """
    tops = [p.relative_to(folder).parts[0] if p.parent != folder else "" for p in files]
    if not any(tops):
        return None, ()
    if not all(tops):
        stray = files[tops.index("")]
        raise UsageError(
            f"{stray} is not in a sub-folder, but {folder} has sub-folders, which are classes.",
            "Put every sample into the folder of its class.",
        )
    names = sorted(set(tops))
    label_file = folder / "labels.txt"
    if label_file.is_file():
        order = [
            line.strip() for line in label_file.read_text(encoding="utf-8", errors="replace").splitlines()
        ]
        order = [line for line in order if line]
        missing = [n for n in names if n not in order]
        if missing:
            raise UsageError(
                f"{label_file} does not list the folder '{missing[0]}'.",
                "Write one folder name per line, in class order.",
            )
        number = {n: k for k, n in enumerate(order)}
        classes = tuple(order)
    elif all(re.fullmatch(r"\d{1,6}", n) for n in names):
        number = {n: int(n) for n in names}
        classes = ()
    else:
        number = {n: k for k, n in enumerate(names)}
        classes = tuple(names)
    return np.array([number[p.relative_to(folder).parts[0]] for p in chosen], np.int64), classes


def _hash_files(folder: Path, files: Sequence[Path]) -> str:
    """Return the SHA-256 of the names (relative to ``folder``) and contents of ``files``, in order."""
    digest = hashlib.sha256()
    for p in files:
        name = p.relative_to(folder).as_posix().encode("utf-8", "surrogateescape")
        digest.update(len(name).to_bytes(4, "little") + name + hashlib.sha256(p.read_bytes()).digest())
    return digest.hexdigest()
