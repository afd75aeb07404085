"""What an agent accumulates between two heartbeats, in histograms of fixed size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arenite.host.fleet.drift import MAX_COUNT, ks_millionths, psi_millionths
from arenite.host.fleet.latency_histogram import BUCKETS, bucket_of, to_pairs

#: The number of bins of each statistic of the input, and of the confidence.
BINS = 16
#: The statistics of an input tensor, each with a histogram: its mean, and its mean absolute difference from the mean.
INPUT_STATISTICS = ("mean", "deviation")


@dataclass(frozen=True, slots=True)
class DriftReference:
    """Histograms of the calibration data: of each statistic of the input, and of the output classes."""

    inputs: tuple[tuple[int, ...], ...]
    classes: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        return {"inputs": [list(counts) for counts in self.inputs], "classes": list(self.classes)}


def input_bins(tensor: NDArray[np.int8]) -> tuple[int, ...]:
    """Return the bin of each statistic of an int8 input tensor, computed in integers."""
    values = tensor.astype(np.int64).ravel()
    if not values.size:
        raise ValueError("the input tensor is empty")
    mean = int(values.sum()) // values.size
    deviation = int(np.abs(values - mean).sum()) // values.size
    return (mean + 128) >> 4, min(deviation >> 3, BINS - 1)


def confidence_bin(score: int) -> int:
    """Return the bin of the largest int8 output."""
    return (score + 128) >> 4


@dataclass(slots=True)
class Observations:
    """Histograms of inferences. ``reference`` has as many classes as the model."""

    reference: DriftReference
    latency: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    confidence: list[int] = field(default_factory=lambda: [0] * BINS)
    classes: list[int] = field(init=False)
    inputs: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.classes = [0] * len(self.reference.classes)
        self.inputs = [[0] * len(counts) for counts in self.reference.inputs]

    def add(self, latency_us: int, bins: tuple[int, ...], class_index: int, confidence: int) -> None:
        """Count one inference: its latency, the bins of its input, the class with the largest output, and the bin of
        that output. Raises ``IndexError`` for a class or bin that the model does not have. A full histogram counts
        nothing more."""
        if len(bins) != len(self.inputs) or min(class_index, confidence, *bins) < 0:
            raise IndexError(f"the bins {bins}, class {class_index} or confidence {confidence} do not exist")
        _count(self.classes, class_index)
        _count(self.confidence, confidence)
        _count(self.latency, bucket_of(latency_us))
        for counts, bin_index in zip(self.inputs, bins, strict=True):
            _count(counts, bin_index)

    def add_counts(
        self,
        latency: Sequence[int],
        classes: Sequence[int],
        confidence: Sequence[int],
        inputs: Sequence[Sequence[int]],
    ) -> None:
        """Add histograms that a device has counted. They may have other numbers of classes and statistics than the
        reference."""
        self.latency = _sum(self.latency, latency)
        self.classes = _sum(self.classes, classes)
        self.confidence = _sum(self.confidence, confidence)
        self.inputs = [_sum(a, b) for a, b in zip_longest(self.inputs, inputs, fillvalue=())]

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a heartbeat. Without a reference with as many bins, the index of the classes is 0, and
        the statistics of the input have none."""
        reference = self.reference
        has_classes = len(self.classes) == len(reference.classes) > 0
        inputs = [(a, b) for a, b in zip(self.inputs, reference.inputs, strict=False) if len(a) == len(b)]
        return {
            "latency": to_pairs(self.latency),
            "classes": self.classes,
            "inputs": self.inputs,
            "confidence": self.confidence,
            "psi": {
                "classes": psi_millionths(self.classes, reference.classes) if has_classes else 0,
                "inputs": [psi_millionths(a, b) for a, b in inputs],
            },
            "ks": [ks_millionths(a, b) for a, b in inputs],
        }


def _sum(counts: Sequence[int], more: Sequence[int]) -> list[int]:
    return [min(a + b, MAX_COUNT) for a, b in zip_longest(counts, more, fillvalue=0)]


def _count(counts: list[int], index: int) -> None:
    counts[index] = min(counts[index] + 1, MAX_COUNT)
