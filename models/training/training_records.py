"""Recorded trainings with their measured scores: the manifest's ``[[training]]`` tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arenite.models.manifest import manifest
from arenite.models.training.training import TrainingOptions


@dataclass(frozen=True)
class TrainingRecord:
    """A training and its measured result.

    The score is the ``value`` of ``metric`` on ``samples`` test samples, before quantization. ``seconds`` is the time
    of the training alone, and ``on`` the machine that it ran on.
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
    """Return every recorded training by its name, in the order of the manifest."""
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
