"""Read the recorded trainings with their measured scores: the ``[[training]]`` tables of the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arenite.models.manifest import manifest
from arenite.models.training.training import TrainingOptions


@dataclass(frozen=True)
class TrainingRecord:
    """A training and its measured result.

    ``value`` is the score by the metric ``metric`` on ``samples`` test samples, before quantization. ``parameters``
    is the number of weights. ``seconds`` is the time of the training without other steps, and ``on`` the machine on
    which it ran.
    """

    name: str
    title: str
    options: TrainingOptions
    metric: str
    value: float
    samples: int
    parameters: int
    seconds: float
    on: str

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "command": self.options.command,
            "metric": self.metric,
            "value": self.value,
            "samples": self.samples,
            "parameters": self.parameters,
            "seconds": self.seconds,
            "on": self.on,
            "kind": "measured",
        }


def training_records() -> Mapping[str, TrainingRecord]:
    """Return {name: recorded training}, in the order of the manifest."""
    records = {}
    for row in manifest().trainings:
        options = TrainingOptions(
            row["architecture"],
            row["data"],
            float(row["width"]),
            row.get("resolution"),
            row.get("seed", 0),
            row["epochs"],
            row["batch"],
            row["rate"],
        )
        result = row["result"]
        records[row["name"]] = TrainingRecord(
            row["name"],
            row["title"],
            options,
            result["metric"],
            result["value"],
            result["samples"],
            result["parameters"],
            result["seconds"],
            result["on"],
        )
    return records
