"""The score of a model's output on labelled samples, or its agreement with another model.

``accuracy``   the share of samples whose largest output is the label. A single output value is compared with the
               threshold. For a dense output, such as a segmentation, it is the share of positions.
``auc``        the area under the ROC curve of the output for labels 0 and 1, or of the reconstruction error if output
               and input have the same shape (auto-encoders). For several output values it is the mean over all classes
               of the area for this class against all other classes.
``mse``        the mean squared error between the outputs and the targets y. Without y, the targets are the inputs
               (auto-encoders) or the outputs of ``reference``.
``r2``         the coefficient of determination: 1 minus the energy of the differences to the targets y, or without y to
               the outputs of ``reference``, divided by the energy of the targets' deviations from their mean.
``agreement``  the share of samples, or of positions of a dense output, for which the model and ``reference`` give the
               same class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.scoring.decisions import (
    class_map_axis,
    decide,
    is_dense,
    probability_axis,
)
from arenite.converters.quantize.scoring.metrics import (
    PartMetric,
    Score,
    auc,
    check_metric,
    measure_parts,
)
from arenite.converters.quantize.scoring.model_runner import Progress, run_dataset
from arenite.errors import UsageError

__all__ = ["PartMetric", "Score", "default_metric", "score", "score_outputs"]


def score(
    flatbuffer: bytes,
    dataset: Dataset,
    metric: str | None = None,
    *,
    reference: Sequence[np.ndarray] | None = None,
    threshold: float = 0.5,
    reference_kernels: bool | None = None,
    progress: Progress = lambda *_: None,
) -> Score:
    """Run ``flatbuffer`` on every sample and score its first output.

    Args:
        metric: one of ``METRICS``; None selects ``default_metric``.
        reference: another model's outputs from ``run_dataset``.
        threshold: if the output is a single value, the class is 1 above this real value, else 0.
        reference_kernels: see ``reference`` of ``RealValueRunner``.

    Raises:
        UsageError: the data have no labels or targets that the metric needs.
    """
    outputs = run_dataset(flatbuffer, dataset, reference=reference_kernels, progress=progress)
    return score_outputs(outputs, dataset, metric, reference=reference, threshold=threshold)


def default_metric(outputs: Sequence[np.ndarray], dataset: Dataset) -> str:
    """Return the default metric for the data.

    It is accuracy for class numbers, auc for anomaly labels of an auto-encoder, and mse for targets. Without labels
    that belong to the output, it is mse for an auto-encoder; agreement for classes (a vector, probabilities at each
    position, or integers); and r2 for a single value and for dense outputs that are not probabilities.
    """
    if (metric := _metric_of_labels(outputs, dataset)) is not None:
        return metric
    if _is_autoencoder(outputs, dataset):
        return "mse"
    first = outputs[0]
    if first.dtype.kind in "iub":
        return "agreement"
    values = first.size == 1 or (is_dense(first) and probability_axis(outputs) is None)
    return "r2" if values else "agreement"


def _metric_of_labels(outputs: Sequence[np.ndarray], dataset: Dataset) -> str | None:
    """Return the default metric for the labels; None if there are none or they do not belong to the output."""
    labels = dataset.labels
    if labels is None:
        return None
    if class_map_axis(outputs[0], labels) is not None:
        return "accuracy"
    classes = _class_labels(labels)
    if classes is None:
        return "mse" if labels[0].size == outputs[0].size or _is_autoencoder(outputs, dataset) else None
    if _is_autoencoder(outputs, dataset) and set(np.unique(classes)) <= {0, 1}:
        return "auc"
    return None if is_dense(outputs[0]) else "accuracy"


def ignored_labels_note(outputs: Sequence[np.ndarray], dataset: Dataset, metric: str) -> str | None:
    """Return a sentence if the labels are not used, because they are neither class numbers nor targets in the output's
    shape. Otherwise return None."""
    labels = dataset.labels
    if metric in ("accuracy", "auc") or labels is None or _metric_of_labels(outputs, dataset) is not None:
        return None
    if labels[0].size == outputs[0].size:
        return None
    per_sample = f"{labels[0].size:,} value{'s' * (labels[0].size != 1)} per sample"
    return f"{dataset.path}: y has {per_sample}, and the model's output has {outputs[0].size:,} values: y is not used."


def score_outputs(
    outputs: Sequence[np.ndarray],
    dataset: Dataset,
    metric: str | None = None,
    *,
    reference: Sequence[np.ndarray] | None = None,
    threshold: float = 0.5,
) -> Score:
    """Return the ``score`` for ``outputs`` that were already computed, one per sample."""
    if not len(dataset):
        raise UsageError(f"{dataset.path} has no samples.", "Write at least one.")
    metric = metric or default_metric(outputs, dataset)
    check_metric(metric)
    measure, margin = {
        "accuracy": lambda: _accuracy(outputs, dataset, threshold),
        "auc": lambda: _auc(outputs, dataset),
        "mse": lambda: _mse(outputs, dataset, reference),
        "r2": lambda: _r2(outputs, dataset, reference),
        "agreement": lambda: _agreement(outputs, dataset, reference, threshold),
    }[metric]()
    all_samples = np.arange(len(dataset))
    labels = dataset.labels
    if labels is not None:
        by_position = class_map_axis(outputs[0], labels) is not None
        labels = None if by_position else _class_labels(labels)
    per_class, slices = measure_parts(measure, labels, dataset.slices, dataset.classes)
    value = measure(all_samples)
    if math.isnan(value):
        raise UsageError(
            f"{dataset.path}: the {metric} is not defined: all samples have one label.",
            "Give samples with both labels.",
        )
    return Score(metric, value, len(dataset), margin(value), per_class, slices)


#: A function that returns the metric of the samples with the given indices, and a function that returns the margin (see
#: ``Score``) for the metric's value.
Measure = tuple[Callable[[np.ndarray], float], Callable[[float], float | None]]


def _measure_share(hits: np.ndarray) -> Measure:
    """Return the functions of ``Measure`` for the share of true values in ``hits``, whose shape is (samples,) or
    (samples, positions)."""

    def margin(value: float) -> float | None:
        if hits.ndim == 1:
            return 1.96 * math.sqrt(value * (1 - value) / len(hits))
        return _margin_of_mean(hits.mean(axis=1))  # the positions of a sample are not independent

    return lambda places: float(hits[places].mean()), margin


def _margin_of_mean(values: np.ndarray) -> float | None:
    """Return half the width of the 95 % confidence interval of the mean of ``values``, or None for a single value."""
    return 1.96 * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def _accuracy(outputs: Sequence[np.ndarray], dataset: Dataset, threshold: float) -> Measure:
    axis = None if dataset.labels is None else class_map_axis(outputs[0], dataset.labels)
    if dataset.labels is not None and axis is not None:
        return _measure_share(decide(outputs, threshold, axis) == dataset.labels.reshape(len(dataset), -1))
    labels = _require_classes(dataset, "accuracy")
    if is_dense(outputs[0]):
        raise UsageError(
            f"{dataset.path}: y has one class per sample, and the model's output has the shape {outputs[0].shape}.",
            "Give one class number per position, or choose the metric r2 or agreement.",
        )
    values = max(outputs[0].size, 2)
    if outputs[0].dtype.kind not in "iub" and (labels.min() < 0 or labels.max() >= values):
        raise UsageError(
            f"{dataset.path} has labels from {labels.min()} to {labels.max()}; the model's output has the classes 0 to "
            f"{values - 1}.",
            "Number the classes as the model does.",
        )
    return _measure_share(decide(outputs, threshold) == labels)


def _auc(outputs: Sequence[np.ndarray], dataset: Dataset) -> Measure:
    labels = _require_classes(dataset, "auc")
    if _is_autoencoder(outputs, dataset):
        scores = np.array([_mean_square(o, x[0]) for o, x in zip(outputs, dataset.inputs, strict=True)])[
            :, None
        ]
    else:
        scores = np.stack([o.reshape(-1) for o in outputs])
    if scores.shape[1] <= 2:
        if not set(np.unique(labels)) <= {0, 1}:
            raise UsageError(
                f"{dataset.path} has labels {np.unique(labels)[:5].tolist()}; the area under the ROC curve "
                "needs the labels 0 and 1.",
                "Write 1 for the samples that the model should detect.",
            )
        label_1_scores = scores[:, -1] - (scores[:, 0] if scores.shape[1] == 2 else 0)
        return lambda places: auc(label_1_scores[places], labels[places]), lambda _: None

    def mean(places: np.ndarray) -> float:
        each = [auc(scores[places, c], labels[places] == c) for c in range(scores.shape[1])]
        defined = [a for a in each if not math.isnan(a)]
        return float(np.mean(defined)) if defined else math.nan

    return mean, lambda _: None


def _mse(outputs: Sequence[np.ndarray], dataset: Dataset, reference: Sequence[np.ndarray] | None) -> Measure:
    targets = _targets(outputs, dataset, reference)
    errors = np.array([_mean_square(o, t) for o, t in zip(outputs, targets, strict=True)])
    return lambda places: float(errors[places].mean()), lambda _: _margin_of_mean(errors)


def _r2(outputs: Sequence[np.ndarray], dataset: Dataset, reference: Sequence[np.ndarray] | None) -> Measure:
    targets = _targets(outputs, dataset, reference)
    channels = outputs[0].shape[-1] if outputs[0].ndim else 1
    rows = [t.astype(np.float64).reshape(-1, channels) for t in targets]
    mean = np.mean([t.mean(axis=0) for t in rows], axis=0)
    spread = np.array([np.mean((t - mean) ** 2) for t in rows])
    errors = np.array([_mean_square(o, t) for o, t in zip(outputs, targets, strict=True)])

    def measure(places: np.ndarray) -> float:
        error, total = float(errors[places].sum()), float(spread[places].sum())
        if total == 0:  # all targets are equal
            return 1.0 if error == 0 else 0.0
        return 1 - error / total

    return measure, lambda _: None


def _targets(
    outputs: Sequence[np.ndarray], dataset: Dataset, reference: Sequence[np.ndarray] | None
) -> Sequence[np.ndarray]:
    """Return the values that ``outputs`` are compared with: the targets y, an auto-encoder's inputs, or
    ``reference``."""
    labels = dataset.labels
    if labels is not None and labels[0].size == outputs[0].size:
        return list(labels)
    if _is_autoencoder(outputs, dataset):
        return [x[0] for x in dataset.inputs]
    if reference is not None:
        return reference
    raise UsageError(
        f"{dataset.path} has no targets to compare the outputs with.",
        "Add targets y of the output's shape.",
    )


def _agreement(
    outputs: Sequence[np.ndarray],
    dataset: Dataset,
    reference: Sequence[np.ndarray] | None,
    threshold: float,
) -> Measure:
    if reference is None:
        raise UsageError("Agreement needs another model.", "Give the float model as the reference.")
    if len(reference) != len(outputs):
        raise UsageError(
            f"The model has outputs for {len(outputs)} samples, and the reference for {len(reference)}.",
            "Run both models on the same samples.",
        )
    axis = probability_axis(reference) if is_dense(reference[0]) else None
    return _measure_share(decide(outputs, threshold, axis or -1) == decide(reference, threshold, axis or -1))


def _mean_square(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mean squared difference of two arrays with the same number of values."""
    return float(np.mean((a.astype(np.float64).reshape(-1) - b.astype(np.float64).reshape(-1)) ** 2))


def _is_autoencoder(outputs: Sequence[np.ndarray], dataset: Dataset) -> bool:
    """Return whether the model is an auto-encoder: one input, and an output of its shape."""
    first = dataset.inputs[0]
    return len(first) == 1 and outputs[0].shape == first[0].shape and outputs[0].size > 1


def _class_labels(labels: np.ndarray) -> np.ndarray | None:
    """Return labels as class numbers: int64 [samples]. Labels may be integers, floats with integer values or one-hot
    rows. Return None for other labels."""
    if labels.ndim == 2 and labels.shape[1] > 1:
        one_hot = np.isin(labels, (0, 1)).all() and (labels.sum(axis=1) == 1).all()
        return np.argmax(labels, axis=1) if one_hot else None
    if labels.ndim != 1:
        return None
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64)
    return labels.astype(np.int64) if np.array_equal(labels, np.trunc(labels)) else None


def _require_classes(dataset: Dataset, metric: str) -> np.ndarray:
    """Return the labels as class numbers. Raises ``UsageError`` if there are none."""
    if dataset.labels is None:
        raise UsageError(
            f"{dataset.path} has no labels, which the metric {metric} needs.",
            "Add an array y with one class number per sample.",
        )
    labels = _class_labels(dataset.labels)
    if labels is None:
        raise UsageError(
            f"{dataset.path}: y is {dataset.labels.dtype} of shape {dataset.labels.shape}; the "
            f"metric {metric} needs class numbers.",
            "Give one class number per sample, or score with mse.",
        )
    return labels
