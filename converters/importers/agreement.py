"""Measure how closely the outputs of a converted model agree with the outputs of its source for the same inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.errors import ModelError


@dataclass(frozen=True)
class Agreement:
    """The differences between the outputs of the source and of the converted model, over all values and samples.

    ``sqnr_db`` is 10 log10(sum of squares of the source's values / sum of squares of the differences). It is infinite
    if no value differs. ``source`` names the program that ran the source, for example "keras 3.15.1".
    """

    samples: int
    max_abs: float
    mean_abs: float
    sqnr_db: float
    source: str

    def __str__(self) -> str:
        sqnr = "exact" if math.isinf(self.sqnr_db) else f"{self.sqnr_db:.1f} dB"
        return (
            f"{self.samples} samples against {self.source}: largest difference {self.max_abs:.3g}, "
            f"mean {self.mean_abs:.3g}, {sqnr}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object; ``sqnr_db`` is None if it is infinite."""
        finite = math.isfinite(self.sqnr_db)
        return {
            "samples": self.samples,
            "max_abs": self.max_abs,
            "mean_abs": self.mean_abs,
            "sqnr_db": self.sqnr_db if finite else None,
            "source": self.source,
        }


def agreement(pairs: Iterable[tuple[list[np.ndarray], list[np.ndarray]]], source: str) -> Agreement | None:
    """Return the agreement of ``pairs``, or None if there are no samples.

    ``pairs`` has (outputs of the source, outputs of the flatbuffer) for each sample. ``source`` names the program that
    ran the source. A value that is NaN on one side only counts as an infinite difference. Raises ``ModelError`` if an
    output of the flatbuffer has another size than the source's output.
    """
    samples = values = 0
    largest = total = signal = noise = 0.0
    for expected, actual in pairs:
        samples += 1
        for e, a in zip(expected, actual, strict=True):
            if np.size(e) != np.size(a):
                raise ModelError(
                    f"The converted model gives an output of shape {np.shape(a)} where {source} gives {np.shape(e)}.",
                    "The converter misread the model: export it with constants folded or another framework version.",
                )
            e64, a64 = np.asarray(e, np.float64).ravel(), np.asarray(a, np.float64).ravel()
            same = (e64 == a64) | (np.isnan(e64) & np.isnan(a64))
            with np.errstate(invalid="ignore"):
                difference = np.where(same, 0.0, np.abs(e64 - a64))
            difference[np.isnan(difference)] = math.inf
            values += difference.size
            largest = max(largest, float(difference.max(initial=0.0)))
            total += float(difference.sum())
            noise += float(np.square(difference).sum())
            signal += float(np.square(e64[np.isfinite(e64)]).sum())
    if not samples or not values:
        return None
    if noise == 0:
        sqnr = math.inf
    elif signal == 0 or math.isinf(noise):
        sqnr = -math.inf
    else:
        sqnr = 10 * math.log10(signal / noise)
    return Agreement(samples, largest, total / values, sqnr, source)
