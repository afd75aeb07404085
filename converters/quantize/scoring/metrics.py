"""Metrics of outputs compared with labels, targets or another model's outputs: over all samples, per class and per
slice.

The functions of this module take arrays. ``score.py`` runs the models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arenite.errors import UsageError

#: Whether a larger value is better, by metric.
METRICS: Mapping[str, bool] = {"accuracy": True, "auc": True, "agreement": True, "r2": True, "mse": False}


@dataclass(frozen=True)
class PartMetric:
    """The metric over a part of the samples."""

    value: float
    samples: int

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "samples": self.samples}


@dataclass(frozen=True)
class Score:
    """The score of an output. ``value`` is a fraction for accuracy, auc, agreement and r2 (which can be negative).
    For mse it has the squared unit of the output.

    ``margin`` is half the width of the 95 % confidence interval (normal approximation), or None if it is unknown.
    ``per_class`` has the metric by class number or name. A slice divides the samples into groups, and
    ``slices[name][group]`` is the metric of one group.
    """

    metric: str
    value: float
    samples: int
    margin: float | None = None
    per_class: Mapping[str, PartMetric] = field(default_factory=dict)
    slices: Mapping[str, Mapping[str, PartMetric]] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.metric == "mse":
            return f"mse {self.value:.4g} on {self.samples:,} samples"
        return f"{self.metric} {self.value:.2%} on {self.samples:,} samples"

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "value": self.value,
            "samples": self.samples,
            "margin": self.margin,
            "per_class": {k: p.to_json() for k, p in self.per_class.items()},
            "slices": {s: {g: p.to_json() for g, p in groups.items()} for s, groups in self.slices.items()},
        }


def metric_drop(before: Score, after: Score) -> float:
    """Return the loss, which is positive if ``after`` is worse. It is a difference of fractions, or for mse the
    increase relative to ``before``."""
    if before.metric != after.metric:
        raise ValueError(f"{before.metric} cannot be compared with {after.metric}")
    if METRICS[before.metric]:
        return before.value - after.value
    return (after.value - before.value) / max(before.value, 1e-30)


@dataclass(frozen=True)
class MetricDrop:
    """The loss of a class or of a group of a slice."""

    what: str  # such as "class 3" or "slice room = kitchen"
    before: PartMetric
    after: PartMetric
    drop: float

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "before": self.before.value, "after": self.after.value, "drop": self.drop}


def largest_drops(before: Score, after: Score, min_samples: int = 5) -> list[MetricDrop]:
    """Return the loss of each class, and of each group of a slice, with at least ``min_samples`` samples, the worst
    first."""
    pairs = [(f"class {k}", p, after.per_class.get(k)) for k, p in before.per_class.items()]
    for name, groups in before.slices.items():
        others = after.slices.get(name, {})
        pairs += [(f"slice {name} = {g}", p, others.get(g)) for g, p in groups.items()]
    sign = 1.0 if METRICS[before.metric] else -1.0
    drops = [
        MetricDrop(name, a, b, sign * (a.value - b.value))
        for name, a, b in pairs
        if b is not None and a.samples >= min_samples
    ]
    return sorted(drops, key=lambda part: -part.drop)


def auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve: the share of the pairs of a positive and a negative sample in which the
    positive sample has the larger score. Ties count half.

    It is computed from ranks as the Mann-Whitney U statistic. The result is NaN if there are no positive or no negative
    samples.
    """
    positive = positive.astype(bool)
    n, p = len(scores), int(positive.sum())
    if p in (0, n):
        return math.nan
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[inverse]
    return float((ranks[positive].sum() - p * (p + 1) / 2) / (p * (n - p)))


def measure_parts(
    measure: Callable[[np.ndarray], float],
    labels: np.ndarray | None,
    slices: Mapping[str, np.ndarray],
    classes: Sequence[str] = (),
) -> tuple[dict[str, PartMetric], dict[str, dict[str, PartMetric]]]:
    """Return (metric by class, metric by slice and group). ``measure`` computes the metric from the indices of samples.

    Classes are included if ``labels`` are class numbers. Parts for which the metric is NaN are left out.
    """
    per_class: dict[str, PartMetric] = {}
    if labels is not None and labels.ndim == 1 and labels.dtype.kind in "iu":
        for number in np.unique(labels):
            has_name = 0 <= number < len(classes)
            _add(per_class, classes[int(number)] if has_name else str(number), measure, labels == number)
    by_slice: dict[str, dict[str, PartMetric]] = {}
    for name, groups in slices.items():
        by_slice[name] = {}
        for group in np.unique(groups):
            _add(by_slice[name], str(group), measure, groups == group)
    return per_class, by_slice


def _add(
    parts: dict[str, PartMetric], name: str, measure: Callable[[np.ndarray], float], member: np.ndarray
) -> None:
    """Add the metric of the samples for which ``member`` is true to ``parts``, unless it is NaN."""
    value = measure(np.flatnonzero(member))
    if not math.isnan(value):
        parts[name] = PartMetric(value, int(member.sum()))


def check_metric(metric: str) -> None:
    """Raise ``UsageError`` if ``metric`` is not in ``METRICS``."""
    if metric not in METRICS:
        raise UsageError(f"There is no metric '{metric}'.", f"Choose from {', '.join(METRICS)}.")
