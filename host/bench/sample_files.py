"""Convert pictures and WAV files to samples with the preprocessing that the image (the converted model) records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.converters.processing.media_files import preprocess_file, suffixes
from arenite.converters.quantize.dataset.sample_files import evenly_spread_indices
from arenite.converters.quantize.dataset.sample_folders import classes_of
from arenite.errors import UsageError
from arenite.host.bench.samples import Samples
from arenite.host.build.attachments import LABELS, recorded_preprocessing


def file_samples(
    path: Path, tensors: Sequence[Tensor], extra: Mapping[str, Any], limit: int | None = None
) -> Samples:
    """Return samples from a picture, a WAV file, or a folder of such files. The name of a sub-folder is a class.

    Args:
        path: the file or folder.
        tensors: the model's inputs. There must be exactly one.
        extra: the image's metadata. Its preprocessing converts a file to the same tensor as on the device. Its labels
            give the class of a sub-folder if all sub-folders are named after labels.
        limit: the maximum number of files. They are evenly spread over all files, sorted by path. None: all files.

    Raises:
        UsageError: the image has no preprocessing, there are no such files, or a file cannot be read.
    """
    spec = recorded_preprocessing(extra)
    if spec is None:
        raise UsageError(
            f"The model records no preprocessing, so that {path} cannot be converted to tensors.",
            "Convert it with --preprocessing FILE.toml (see docs/processing.md), or give an .npz file.",
        )
    if len(tensors) != 1:
        raise UsageError(f"The model has {len(tensors)} inputs.", "Give their samples in an .npz file.")
    bound = spec.bound(tensors[0])
    files = sample_files(path, suffixes(spec))
    labels = None if path.is_file() else _labels(path, files, extra)
    indices = evenly_spread_indices(len(files), limit)
    selected_files = [files[k] for k in indices]
    inputs = [[preprocess_file(bound, file, tensors[0].shape)] for file in selected_files]
    return Samples(inputs, None if labels is None else labels[indices])


def sample_files(folder: Path, file_suffixes: Sequence[str], limit: int | None = None) -> list[Path]:
    """Return the files below ``folder`` that have one of the suffixes, sorted by path. If ``folder`` is a file, return
    only this file.

    ``limit`` is the maximum number of files, which are evenly spread. Raises ``UsageError`` if there are no files.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise UsageError(f"The file or folder {folder} does not exist.", "Give a folder of samples.")
    paths = sorted(
        f
        for f in folder.rglob("*")
        if f.is_file()
        and f.suffix.lower() in file_suffixes
        and not any(part.startswith(".") for part in f.relative_to(folder).parts)
    )
    if not paths:
        raise UsageError(
            f"{folder} contains no {', '.join(file_suffixes)} files, which the model's preprocessing reads.",
            "Give a folder with such files. The name of a sub-folder is a class.",
        )
    return [paths[k] for k in evenly_spread_indices(len(paths), limit)]


def _labels(folder: Path, files: Sequence[Path], extra: Mapping[str, Any]) -> np.ndarray | None:
    """Return the class number of each file by its sub-folder, or None if the files are in ``folder`` itself.

    Raises ``UsageError`` if the sub-folders are named neither after labels nor by numbers, and no labels.txt gives
    their order.
    """
    names = extra.get(LABELS)
    top_folders = [f.relative_to(folder).parts[0] for f in files if f.parent != folder]
    if isinstance(names, list) and len(top_folders) == len(files) and set(top_folders) <= set(names):
        return np.array([names.index(top_folder) for top_folder in top_folders], np.int64)
    labels, classes = classes_of(folder, files, files)
    if names and classes and not (folder / "labels.txt").is_file():
        unknown_class = next(name for name in classes if name not in names)
        raise UsageError(
            f"{folder} has the class '{unknown_class}', which is not a label of the model:"
            f" {', '.join(map(str, names))[:200]}.",
            "Name the folders after the labels, or by their numbers.",
        )
    return labels
