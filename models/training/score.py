"""Compute the score of a trained network on its test samples, by the metric of its task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arenite.models.architectures.network import Network
from arenite.models.datasets.training_data import CLASSIFY, RECONSTRUCT, TrainingData
from arenite.models.training import metrics


@dataclass(frozen=True)
class TrainingScore:
    """The score over all test samples. ``metric`` is the name of the metric. ``value`` is a fraction of 1.
    ``samples`` is the number of test samples. ``parts`` has the score of each class by name."""

    metric: str
    value: float
    samples: int
    parts: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        parts = {name: round(value, 6) for name, value in self.parts.items() if value == value}
        return {
            "metric": self.metric,
            "value": round(self.value, 6),
            "samples": self.samples,
            "per_class": parts,
        }


def training_score(network: Network, data: TrainingData, outputs: Sequence[np.ndarray]) -> TrainingScore:
    """Return the score by the metric of the task. ``outputs`` has one array of shape (samples, ...) per output of the
    network, for all test samples."""
    n = len(data.x_test)
    if data.task == CLASSIFY:
        parts = dict(zip(data.labels, metrics.accuracy_per_class(outputs[0], data.y_test), strict=True))
        return TrainingScore("accuracy", metrics.accuracy(outputs[0], data.y_test), n, parts)
    if data.task == RECONSTRUCT:
        errors = metrics.reconstruction_errors(data.x_test, outputs[0])
        return TrainingScore("ROC AUC", metrics.roc_auc(errors, data.y_test), n)
    from arenite.models.training.detection import mean_average_precision

    value, per_class = mean_average_precision(network, data, outputs)
    return TrainingScore("mAP at IoU 0.5", value, n, dict(zip(data.labels, per_class, strict=True)))
