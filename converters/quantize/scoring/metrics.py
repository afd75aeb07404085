"""Metrics of outputs against labels, targets or another model's outputs: in total, per class and per slice.

All are plain functions of arrays; ``score`` runs models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arenite.errors import UsageError

#: Metric -> whether more is better.
METRICS: Mapping[str, bool] = {"accuracy": True, "auc": True, "agreement": True, "mse": False}


@dataclass(frozen=True)
class PartMetric:
    """The metric over some of the samples."""

    value: float
    samples: int

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "samples": self.samples}


@dataclass(frozen=True)
class Score:
    """``value``: a fraction for accuracy, auc and agreement; in squared units of the output for mse.

    ``margin``: half the width of the 95 % confidence interval (normal approximation), None where it is unknown.
    ``per_class`` by class number or name; ``slices[name][group]``.
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
    """Return the loss, positive when ``after`` is worse: a difference of fractions; for mse relative to
    ``before``."""
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


def largest_drops(before: Score, after: Score, least: int = 5) -> list[MetricDrop]:
    """Classes and groups of at least ``least`` samples by their loss, the worst first."""
    pairs = [(f"class {k}", p, after.per_class.get(k)) for k, p in before.per_class.items()]
    for name, groups in before.slices.items():
        others = after.slices.get(name, {})
        pairs += [(f"slice {name} = {g}", p, others.get(g)) for g, p in groups.items()]
    sign = 1.0 if METRICS[before.metric] else -1.0
    drops = [
        MetricDrop(what, a, b, sign * (a.value - b.value))
        for what, a, b in pairs
        if b is not None and a.samples >= least
    ]
    return sorted(drops, key=lambda part: -part.drop)


def decide(outputs: Sequence[np.ndarray], threshold: float = 0.5) -> np.ndarray:
    """Return one class number per output: the index of the largest value; for a single value, whether it passes
    ``threshold``."""
    rows = np.stack([o.reshape(-1) for o in outputs])
    if rows.shape[1] == 1:
        return (rows[:, 0] > threshold).astype(np.int64)
    value: np.ndarray = np.argmax(rows, axis=1)
    return value


def auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Area under the ROC curve: the share of (positive, negative) pairs in the right order, ties counted half.

    Source: the Mann-Whitney U statistic from ranks. NaN where one of the two is absent.
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
    """``measure`` of the indices of each class (where ``labels`` are class numbers) and of each group.

    Parts for which it is not defined (NaN) are left out.
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
