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
        tensors: the model's inputs, of which there must be one.
        extra: of the image: its preprocessing makes of each file exactly what the device would make of it, and its
            labels, when all sub-folders are called by them, say which class a sub-folder is.
        limit: take so many, evenly spread over the files in order of their paths.

    Raises:
        UsageError: no preprocessing, no such files, or a file that cannot be read.
    """
    spec = recorded_preprocessing(extra)
    if spec is None:
        raise UsageError(
            f"The model records no preprocessing, so that {path} cannot become tensors.",
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
    """The file itself, or the files below ``folder`` that end so, in order; ``limit``: so many, evenly spread.

    Raises ``UsageError`` when there are none.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise UsageError(f"There is no file or folder {folder}.", "Give a folder of samples.")
    paths = sorted(
        f
        for f in folder.rglob("*")
        if f.is_file()
        and f.suffix.lower() in endings
        and not any(part.startswith(".") for part in f.relative_to(folder).parts)
    )
    if not paths:
        raise UsageError(
            f"{folder} has no {', '.join(endings)} files, which the model's preprocessing takes.",
            "Give a folder that has some; sub-folders are classes.",
        )
    return [paths[k] for k in evenly_spread_indices(len(paths), limit)]


def _labels(folder: Path, files: Sequence[Path], extra: Mapping[str, Any]) -> np.ndarray | None:
    """The class of each file by its sub-folder; None when the files lie in ``folder`` itself.

    Raises ``UsageError`` where folders are called neither as the labels nor by numbers, and nothing says their order.
    """
    names = extra.get(LABELS)
    tops = [f.relative_to(folder).parts[0] for f in files if f.parent != folder]
    if isinstance(names, list) and len(tops) == len(files) and set(tops) <= set(names):
        return np.array([names.index(top) for top in tops], np.int64)
    labels, classes = classes_of(folder, files, files)
    if names and classes and not (folder / "labels.txt").is_file():
        strange = next(name for name in classes if name not in names)
        raise UsageError(
            f"{folder} has the class '{strange}', which is none of the model's labels: "
            f"{', '.join(map(str, names))[:200]}.",
            "Call the folders as the labels do, or by their numbers.",
        )
    return labels
