"""Load the samples of a conversion, number their classes by the labels, and split them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.processing.media_files import preprocess_file
from arenite.converters.quantize.dataset.dataset import Dataset, load_dataset
from arenite.errors import UsageError
from arenite.host.conversion.request import ConversionRequest


def load_samples(
    request: ConversionRequest, path: Path | None, model: Model, *, calibration: bool
) -> Dataset:
    """Load the samples at ``path`` for the inputs of ``model``. Pictures and recordings are preprocessed."""
    assert path is not None
    spec = request.attachments.preprocessing
    tensors = [model.main.tensors[i] for i in model.main.inputs]

    def preprocess(file: Path) -> Sequence[np.ndarray]:
        assert spec is not None
        return [preprocess_file(spec.real, file, tensors[0].shape)]

    loaded = load_dataset(path, tensors, calibration=calibration, preprocessing=preprocess if spec else None)
    return _numbered(loaded, request.attachments.labels)


def _numbered(dataset: Dataset, names: tuple[str, ...]) -> Dataset:
    """Number the classes of a folder in the order of the model's labels.

    Raises ``UsageError`` for a class that is not a label, unless a file beside the folders gives their order:
    in alphabetical order the numbers would mean other classes.
    """
    if not dataset.classes or dataset.labels is None or not names:
        return dataset
    unknown_classes = [name for name in dataset.classes if name not in names]
    if unknown_classes and (dataset.path / "labels.txt").is_file():
        return dataset
    if unknown_classes:
        raise UsageError(
            f"{dataset.path} has the class '{unknown_classes[0]}', which is not a label of the model:"
            f" {', '.join(names)[:200]}.",
            "Name the classes after the labels, or by their numbers.",
        )
    label_indices = np.array([names.index(name) for name in dataset.classes])
    return replace(dataset, labels=label_indices[dataset.labels], classes=names)


def split_samples(
    request: ConversionRequest, model: Model, calibration: Dataset | None
) -> tuple[Dataset | None, Dataset | None, Dataset | None, str]:
    """Return samples to calibrate with, to score with and to search with, and a name for those to score with.

    A score on the samples that a search used would be biased. So without a test file, the search gets
    half of the remaining samples of the calibration file.
    """
    test = None if request.test is None else load_samples(request, request.test, model, calibration=False)
    if calibration is None:
        return None, test, None, str(request.test)
    calibrating, remaining = calibration, None
    if request.calibration_samples is not None and request.calibration_samples < len(calibration):
        calibrating, remaining = calibration.split(request.calibration_samples)
    if test is not None:
        return calibrating, test, remaining or calibration, str(request.test)
    if remaining is None:
        return calibrating, calibration, calibration, f"{request.calibration} (the calibration samples)"
    if request.budget is None:
        return calibrating, remaining, None, f"{request.calibration}, samples that calibration did not use"
    searching, scoring = (
        remaining.split(max(len(remaining) // 2, 1)) if len(remaining) > 1 else (remaining, remaining)
    )
    return (
        calibrating,
        scoring,
        searching,
        f"{request.calibration}, samples that calibration and search did not use",
    )
