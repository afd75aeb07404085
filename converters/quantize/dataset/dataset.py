"""Samples for calibrating and scoring a model.

A file ``NAME.npz`` has the array ``x`` (``x0``, ``x1``, ... for several inputs), whose first dimension counts the
samples. It can have labels in ``y`` (``y1``, ``y2``, ... for the outputs after the first), arrays ``slice_NAME`` with a
group per sample (the model is also scored for each group), and arrays ``scale`` and ``zero_point`` if ``x`` has
quantized values. Folders of such files, of pictures and of recordings can be read too. See docs/calibration.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.converters.quantize.dataset import sample_values as values
from arenite.converters.quantize.dataset.sample_files import (
    Preprocessing,
    RawData,
    evenly_spread_indices,
    limited,
    read_file,
    sample_subset_hash,
)
from arenite.converters.quantize.dataset.sample_folders import read_folder
from arenite.errors import UsageError

#: The smallest number of samples for calibration. Fewer samples would give ranges that depend on chance.
MIN_SAMPLES = 10
#: With fewer samples than this, ``Dataset.notes`` has a warning.
RECOMMENDED_SAMPLES = 100


@dataclass(frozen=True)
class Dataset:
    """The samples of a data set. ``inputs[k][i]`` is input ``i`` of sample ``k``, in the shape of the model's input
    with a batch of 1.

    Values are float32 real values, or integers if the model's input has integers without a scale. ``labels`` has one
    entry per sample: class numbers, or target values. ``slices[name][k]`` is the group of sample ``k``. ``sha256`` is
    the hash of the files, and of the indices of the samples if only some samples were selected. ``classes`` has the
    names of the classes if they are known. ``notes`` has sentences for the user about unusual data. ``labels`` and
    ``classes`` belong to the model's first output, output 0; ``more_labels[k]`` has the labels of output ``k``, k >= 1.
    If ``continues``, a model that keeps state continues from each sample to the next when it is scored; otherwise each
    sample begins with a fresh state. ``inputs[k]`` may have the values of the model's states after its inputs
    (``dataset.states``).
    """

    inputs: list[list[np.ndarray]]
    labels: np.ndarray | None
    slices: Mapping[str, np.ndarray]
    sha256: str
    path: Path
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)
    more_labels: Mapping[int, np.ndarray] = field(default_factory=dict)
    continues: bool = False

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, places: Sequence[int] | np.ndarray) -> Dataset:
        """Return the samples with the indices ``places``, in that order."""
        chosen = np.asarray(places, np.int64)
        return replace(
            self,
            inputs=[self.inputs[k] for k in chosen],
            labels=None if self.labels is None else self.labels[chosen],
            slices={name: groups[chosen] for name, groups in self.slices.items()},
            sha256=sample_subset_hash(self.sha256, chosen),
            more_labels={k: labels[chosen] for k, labels in self.more_labels.items()},
        )

    def for_output(self, index: int) -> Dataset:
        """Return the samples with the labels of output ``index``, or without labels if it has none."""
        if index == 0:
            return self
        return replace(self, labels=self.more_labels.get(index), classes=(), more_labels={})

    def limited(self, count: int | None) -> Dataset:
        """Return at most ``count`` samples, taken at even distances. None means all samples."""
        return (
            self
            if count is None or count >= len(self)
            else self.take(evenly_spread_indices(len(self), count))
        )

    def split(self, count: int) -> tuple[Dataset, Dataset]:
        """Return two data sets: ``count`` samples taken at even distances, and all other samples. Raises
        ``UsageError`` if one would be empty."""
        if not 0 < count < len(self):
            raise UsageError(
                f"{self.path} has {len(self):,} samples and cannot be split into {count:,} samples and the others.",
                f"Choose from 1 to {len(self) - 1:,}.",
            )
        first = evenly_spread_indices(len(self), count)
        return self.take(first), self.take(np.setdiff1d(np.arange(len(self)), first))


def load_dataset(
    path: str | Path,
    tensors: Sequence[Tensor],
    *,
    limit: int | None = None,
    preprocessing: Preprocessing | None = None,
    axes: int | None = None,
    quantized: tuple[float, int] | None = None,
    calibration: bool = True,
    labels: bool = False,
) -> Dataset:
    """Read the samples at ``path`` for a model whose inputs are ``tensors``.

    Args:
        limit: the largest number of samples to use. They are taken at even distances.
        preprocessing: converts a picture or recording to one array per input.
        axes: the values of a moment in recordings of a motion sensor, which ``preprocessing`` converts; otherwise None.
        quantized: the scale and zero point of integer samples, used if the file does not state them.
        calibration: whether the samples are for calibration. In this case at least ``MIN_SAMPLES`` samples are
        required,     and they must differ.
        labels: whether labels are required.

    Raises:
        UsageError: the data cannot be used. The error names the array, its content and the expected content.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"A limit of {limit} samples is not positive.", "Give a positive number.")
    source = Path(path)
    if not source.exists():
        raise UsageError(f"{path} does not exist.", "Give an .npz file with x and y, or a folder of samples.")
    if source.is_dir():
        raw = read_folder(source, tensors, limit, preprocessing, axes)
    else:
        raw = limited(read_file(source, tensors), source, limit)
        if preprocessing is not None:
            _refuse_pixels(source, raw, tensors)
    notes = list(raw.notes)
    where = str(path)
    columns = []
    for i, (array, tensor) in enumerate(zip(raw.columns, tensors, strict=True)):
        name = "x" if len(tensors) == 1 else f"x{i}"
        array = values.reshape_samples(where, name, array, tensor)
        stated = raw.stated[i] if raw.stated[i] is not None else quantized
        if stated is not None and not (np.isfinite(stated[0]) and stated[0] > 0):
            raise UsageError(
                f"The scale {stated[0]} is not a positive number.", "Give the scale of the samples."
            )
        values.check_finite(where, name, array)  # before the conversion, in which NumPy would warn
        array, more = values.real_values(where, name, array, tensor, stated)
        values.check_finite(where, name, array)
        notes += more
        notes += values.range_notes(where, name, array, tensor)
        columns.append(array)
    count = len(columns[0])
    if calibration:
        notes += check_count(where, count)
        varying = [i for i, column in enumerate(columns) if values.varies(column)]
        for i, column in enumerate(columns):
            name = "x" if len(tensors) == 1 else f"x{i}"
            notes += values.check_varies(where, name, column, alone=not set(varying) - {i})
    if labels and raw.labels is None:
        raise UsageError(
            f"{path} has no labels.", "Add an array y with one label per sample, or leave out the score."
        )
    labelled, classes = raw.labels, raw.classes
    if labelled is not None:
        labelled, classes = values.class_numbers(where, labelled, raw.classes)
    more_labels = {k: values.class_numbers(where, y, (), f"y{k}")[0] for k, y in raw.more_labels.items()}
    slices = {name: _groups(where, name, groups) for name, groups in raw.slices.items()}
    inputs = [[c[k] for c in columns] for k in range(count)]
    return Dataset(inputs, labelled, slices, raw.sha256, source, classes, tuple(notes), more_labels)


def _refuse_pixels(path: Path, raw: RawData, tensors: Sequence[Tensor]) -> None:
    """Raise ``UsageError`` if arrays hold pixels. Preprocessing is not applied to arrays, and pixels that are not
    preprocessed would give wrong ranges."""
    for column, stated, tensor in zip(raw.columns, raw.stated, tensors, strict=True):
        if column.dtype == np.uint8 and stated is None and tensor.dtype == "float32":
            raise UsageError(
                f"{path} holds pixels (uint8), but preprocessing is not applied to arrays.",
                "Give a folder of pictures, or the arrays as float32 after preprocessing.",
            )


def check_count(where: str, count: int) -> list[str]:
    """Return a note if ``count`` samples are few. Raises ``UsageError`` if they are too few to calibrate with."""
    if count < MIN_SAMPLES:
        raise UsageError(
            f"{where} has {count} sample{'s' * (count != 1)}; calibration needs at least {MIN_SAMPLES}.",
            f"{RECOMMENDED_SAMPLES} or more, like those in the field, give reliable ranges.",
        )
    if count < RECOMMENDED_SAMPLES:
        return [f"{where}: {count} samples are few; {RECOMMENDED_SAMPLES} or more give reliable ranges."]
    return []


def _groups(where: str, name: str, groups: np.ndarray) -> np.ndarray:
    """Return a slice: the group of each sample, a number or a name. Raises ``UsageError`` for other types."""
    if groups.ndim != 1 or groups.dtype.kind not in "iubUS":
        raise UsageError(
            f"{where}: 'slice_{name}' is {groups.dtype} of shape {groups.shape}.",
            "Give one integer, bool or name per sample.",
        )
    return groups.astype(str) if groups.dtype.kind == "S" else groups
