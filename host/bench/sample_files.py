"""Pictures and recordings as samples, through the preprocessing that the image records."""

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
    """Samples from a picture, a WAV file, or a folder of either; sub-folders are classes.

    Args:
        path: the file or folder.
        tensors: the model's inputs; there must be exactly one.
        extra: of the image. Its preprocessing makes the same tensor of each file as the device would; its labels, when
            all sub-folders are named after them, give the class of a sub-folder.
        limit: read this many files at most, evenly spread over the files in order of their paths.

    Raises:
        UsageError: no preprocessing, no such files, or a file that cannot be read.
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
    places = evenly_spread_indices(len(files), limit)
    chosen = [files[k] for k in places]
    inputs = [[preprocess_file(bound, file, tensors[0].shape)] for file in chosen]
    return Samples(inputs, None if labels is None else labels[places])


def sample_files(folder: Path, endings: Sequence[str], limit: int | None = None) -> list[Path]:
    """The file itself, or the files below ``folder`` with one of the endings, in order; ``limit``: at most
    this many, evenly spread.

    Raises ``UsageError`` when there are none.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise UsageError(f"The file or folder {folder} does not exist.", "Give a folder of samples.")
    paths = sorted(
        f
        for f in folder.rglob("*")
        if f.is_file()
        and f.suffix.lower() in endings
        and not any(part.startswith(".") for part in f.relative_to(folder).parts)
    )
    if not paths:
        raise UsageError(
            f"{folder} contains no {', '.join(endings)} files, which the model's preprocessing reads.",
            "Give a folder that contains some; sub-folders are classes.",
        )
    return [paths[k] for k in evenly_spread_indices(len(paths), limit)]


def _labels(folder: Path, files: Sequence[Path], extra: Mapping[str, Any]) -> np.ndarray | None:
    """The class of each file by its sub-folder; None when the files are in ``folder`` itself.

    Raises ``UsageError`` where folders are named neither after the labels nor by numbers, and their order is
    not given.
    """
    names = extra.get(LABELS)
    tops = [f.relative_to(folder).parts[0] for f in files if f.parent != folder]
    if isinstance(names, list) and len(tops) == len(files) and set(tops) <= set(names):
        return np.array([names.index(top) for top in tops], np.int64)
    labels, classes = classes_of(folder, files, files)
    if names and classes and not (folder / "labels.txt").is_file():
        strange = next(name for name in classes if name not in names)
        raise UsageError(
            f"{folder} has the class '{strange}', which is not a label of the model:"
            f" {', '.join(map(str, names))[:200]}.",
            "Name the folders after the labels, or by their numbers.",
        )
    return labels
