"""Load the samples of a conversion, number their classes as in the model's labels, and split them for calibration,
search and scoring."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.processing.media_files import preprocess_file
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.quantize.calibration.random_calibration import random_calibration
from arenite.converters.quantize.dataset.dataset import MIN_SAMPLES, Dataset, load_dataset
from arenite.host.conversion.request import ConversionRequest, check_class_names


def load_samples(
    request: ConversionRequest, path: Path | None, model: Model, *, calibration: bool
) -> Dataset:
    """Load the samples at ``path`` for the inputs of ``model``. Pictures and recordings are preprocessed.
    ``calibration`` is true if the samples are for calibration."""
    assert path is not None
    if path == request.calibration and request.calibrates_with_random:
        return _random_dataset(model, path)
    spec = request.attachments.preprocessing
    tensors = [model.main.tensors[i] for i in model.main.inputs]

    def preprocess(file: Path) -> Sequence[np.ndarray]:
        assert spec is not None
        return [preprocess_file(spec.real, file, tensors[0].shape)]

    loaded = load_dataset(
        path,
        tensors,
        calibration=calibration,
        preprocessing=preprocess if spec else None,
        axes=spec.source.axes if spec is not None and isinstance(spec.source, ImuSource) else None,
    )
    return replace(_number_classes(loaded, request.attachments.labels), continues=request.stateful)


def _random_dataset(model: Model, path: Path) -> Dataset:
    """Return random inputs for ``model`` in place of calibration samples. ``path`` names them in messages."""
    samples = random_calibration(model, MIN_SAMPLES)
    digest = hashlib.sha256()
    for row in samples.inputs:
        for array in row:
            digest.update(array.tobytes())
    note = (
        "The ranges come from random numbers: size, instructions and fit are as after a calibration, but the outputs "
        "are worth nothing. Convert again with real inputs before you use the image."
    )
    return Dataset(samples.inputs, None, {}, digest.hexdigest(), path, notes=(note,))


def _number_classes(dataset: Dataset, names: tuple[str, ...]) -> Dataset:
    """Number the classes of a folder in the order of the model's labels.

    Raises ``UsageError`` for a class that is not a label, unless a file labels.txt beside the folders has the order of
    the classes. If the classes were numbered in alphabetical order, a number could mean another class of the model.
    """
    if not dataset.classes or dataset.labels is None or not names:
        return dataset
    check_class_names(dataset.path, dataset.classes, names)
    if any(name not in names for name in dataset.classes):
        return dataset  # labels.txt has the order
    label_indices = np.array([names.index(name) for name in dataset.classes])
    return replace(dataset, labels=label_indices[dataset.labels], classes=names)


def split_samples(
    request: ConversionRequest, model: Model, calibration: Dataset | None
) -> tuple[Dataset | None, Dataset | None, Dataset | None, str]:
    """Return (calibration samples, scoring samples, search samples, description of the scoring samples). Samples that
    are not needed are None.

    A score on the samples that a search used would be biased. So without a test file, the search gets half of the
    samples of the calibration file that are not used for calibration, and the score uses the second half.
    """
    test = None if request.test is None else load_samples(request, request.test, model, calibration=False)
    if calibration is None:
        return None, test, None, str(request.test)
    if request.calibrates_with_random:  # a score of random samples would be useless
        return calibration, None, None, ""
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
