"""The agreement of a converted model with its source: both run on the same inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.errors import ModelError


@dataclass(frozen=True)
class Agreement:
    """Differences over all values of all outputs.

    ``sqnr_db`` is 10 log10(sum of squares of the source's values / sum of squares of the differences); infinite when
    there are none. ``source`` names what ran the source, for example "keras 3.15.1".
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
        """``sqnr_db`` is None where there is no difference."""
        finite = math.isfinite(self.sqnr_db)
        return {
            "samples": self.samples,
            "max_abs": self.max_abs,
            "mean_abs": self.mean_abs,
            "sqnr_db": self.sqnr_db if finite else None,
            "source": self.source,
        }


def agreement(pairs: Iterable[tuple[list[np.ndarray], list[np.ndarray]]], source: str) -> Agreement | None:
    """From (values of the source, values of the flatbuffer) per sample; None without samples.

    A value that is not a number on one side only counts as an infinite difference. Raises ``ModelError`` for an output
    of another size.
    """
    samples = values = 0
    largest = total = signal = noise = 0.0
    for expected, actual in pairs:
        samples += 1
        for e, g in zip(expected, actual, strict=True):
            if np.size(e) != np.size(g):
                raise ModelError(
                    f"The converted model gives an output of shape {np.shape(g)} where {source} gives {np.shape(e)}.",
                    "The converter misread the model: export it with another version or with constants folded.",
                )
            e64, g64 = np.asarray(e, np.float64).ravel(), np.asarray(g, np.float64).ravel()
            same = (e64 == g64) | (np.isnan(e64) & np.isnan(g64))
            with np.errstate(invalid="ignore"):
                difference = np.where(same, 0.0, np.abs(e64 - g64))
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
