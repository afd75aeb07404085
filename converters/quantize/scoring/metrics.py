"""Metrics of outputs compared with labels, targets or another model's outputs: in total, per class and per slice.

All are functions of arrays. ``score`` runs the models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arenite.errors import UsageError

#: The metrics, and whether a larger value is better.
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
    """The score of an output. ``value`` is a fraction for accuracy, auc, agreement and r2 (which can be negative), and
    in squared units of the output for mse.

    ``margin`` is half the width of the 95 % confidence interval (normal approximation), or None if it is unknown.
    ``per_class`` has the metric by class number or name, ``slices[name][group]`` by group of a slice.
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
    """A class, or a group of a slice, and its loss."""

    what: str  # "class 3", "slice room = kitchen"
    before: PartMetric
    after: PartMetric
    drop: float

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "before": self.before.value, "after": self.after.value, "drop": self.drop}


def largest_drops(before: Score, after: Score, min_samples: int = 5) -> list[MetricDrop]:
    """Return the loss of each class and group of at least ``min_samples`` samples, the worst first."""
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
    """Return the area under the ROC curve: the share of (positive, negative) pairs in the right order. Ties count half.

    The result is NaN if there are no positive or no negative samples. Source: the Mann-Whitney U statistic from ranks.
    """
    positive = positive.astype(bool)
    n, p = len(scores), int(positive.sum())
    if p in (0, n):
        return math.nan
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[inverse]
    return float((ranks[positive].sum() - p * (p + 1) / 2) / (p * (n - p)))


def over_parts(
    measure: Callable[[np.ndarray], float],
    labels: np.ndarray | None,
    slices: Mapping[str, np.ndarray],
    classes: Sequence[str] = (),
) -> tuple[dict[str, PartMetric], dict[str, dict[str, PartMetric]]]:
    """Return the metric of each class and of each group of a slice. ``measure`` computes it from the indices of
    samples.

    Classes are included if ``labels`` are class numbers. Parts for which the metric is NaN are left out.
    """
    per_class: dict[str, PartMetric] = {}
    if labels is not None and labels.ndim == 1 and labels.dtype.kind in "iu":
        for number in np.unique(labels):
            named = 0 <= number < len(classes)
            _add(per_class, classes[int(number)] if named else str(number), measure, labels == number)
    by_slice: dict[str, dict[str, PartMetric]] = {}
    for name, groups in slices.items():
        by_slice[name] = {}
        for group in np.unique(groups):
            _add(by_slice[name], str(group), measure, groups == group)
    return per_class, by_slice


def _add(
    parts: dict[str, PartMetric], name: str, measure: Callable[[np.ndarray], float], member: np.ndarray
) -> None:
    value = measure(np.flatnonzero(member))
    if not math.isnan(value):
        parts[name] = PartMetric(value, int(member.sum()))


def check_metric(metric: str) -> None:
    if metric not in METRICS:
        raise UsageError(f"There is no metric '{metric}'.", f"Choose from {', '.join(METRICS)}.")
