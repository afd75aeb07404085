"""Compare the range of each tensor with the real values that occur.

A range that is too narrow clips values; a range that is too wide has steps for values that never occur. Both are
reported per tensor, from histograms (``observe``) of the calibration samples or of other samples (``check_data``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.quantize.calibration.histogram import BINS
from arenite.converters.quantize.calibration.observations import Observations, TensorStats
from arenite.converters.quantize.calibration.trained_ranges import trained_ranges
from arenite.converters.quantize.graph.type_assignment import LEVELS, assign_types
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.weights.equalize import equalize_layers
from arenite.converters.tflite.litert.interpreter import run_tensor_values
from arenite.converters.tflite.writer import to_flatbuffer

#: The share of a tensor's values that is called the bulk: all but the outermost 0.05 % on each side.
BULK = 0.999

#: If the bulk uses less than this share of the range, more than two of eight bits are wasted.
_POOR_USE = 0.25

#: From this signal-to-noise ratio on, as with 16 bits, a poor use of the range has no effect.
_GOOD_SQNR_DB = 50.0


@dataclass(frozen=True)
class ScaleRange:
    """The real values that a scale represents: ``levels`` evenly spaced values from ``low`` to ``high``."""

    low: float
    high: float
    levels: int

    @property
    def step(self) -> float:
        return (self.high - self.low) / (self.levels - 1)


@dataclass(frozen=True)
class TensorCoverage:
    """A comparison of the values of one tensor with the range of its scale.

    ``low`` and ``high`` are the limits of the range, ``seen_low`` and ``seen_high`` the smallest and the largest value.
    All values span the share ``used`` of the range, and the bulk of the values spans the share ``bulk``; both are at
    most 1. ``clipped`` is the share of the values outside the range. ``outlier`` is the largest magnitude divided by
    the largest magnitude of the bulk, or 1 if there are no outliers. ``sqnr_db`` is the estimated ratio of the
    energy of the values to the energy of the errors of rounding (uniform over one step) and clipping.
    """

    index: int
    name: str
    made_by: str  # name of the operator that computes the tensor, or "input"
    low: float
    high: float
    seen_low: float
    seen_high: float
    used: float
    bulk: float
    outlier: float
    clipped: float
    sqnr_db: float

    @property
    def warning(self) -> str | None:
        """A sentence if the range fits the values badly, else None."""
        name = f"{self.made_by} tensor {self.index} '{short_name(self.name)}'"
        if self.bulk < _POOR_USE and self.outlier > 2 and self.sqnr_db < _GOOD_SQNR_DB:
            return (
                f"{name}: 99.9% of its values use {self.bulk:.0%} of the range {self.low:.4g} to {self.high:.4g}; "
                f"outliers are {self.outlier:.1f} times as large."
            )
        return None

    def to_json(self) -> dict[str, Any]:
        return {
            "tensor": self.index,
            "name": self.name,
            "made_by": self.made_by,
            "range": [self.low, self.high],
            "seen": [self.seen_low, self.seen_high],
            "used": self.used,
            "bulk": self.bulk,
            "outlier": self.outlier,
            "clipped": self.clipped,
            "sqnr_db": {"value": self.sqnr_db, "kind": "estimated"},
        }


def short_name(name: str) -> str:
    """Return the first part of a tensor's name. Converters join the names of fused operators with ";"."""
    return name.split(";")[0]


def range_of(quant: Quantization, dtype: str) -> ScaleRange:
    """Return the range of real values of a per-tensor quantization."""
    low, high = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}[dtype]
    scale, zero = quant.scale[0], quant.zero_point[0]
    return ScaleRange(scale * (low - zero), scale * (high - zero), high - low + 1)


def quantized_ranges(model: Model, recipe: Recipe, observations: Observations) -> dict[int, ScaleRange]:
    """Return the range that ``recipe`` gives each tensor of the float model that it quantizes, by tensor index.

    If several operators read a tensor in different types, the range is that of the type in which it is computed.
    Tensors whose channels the recipe's equalization scales are left out, because they have no range in the units of
    the float model.
    """
    trained = trained_ranges(model)
    equalize = recipe.equalisation and not trained
    scaled = equalize_layers(to_flatbuffer(model)).scaled if equalize else frozenset[int]()
    assignment = assign_types(model.main, recipe, observations.tensors, trained=trained)
    return {
        form.tensor: range_of(assignment.quant[form], form.dtype)
        for form in assignment.produced.values()
        if form in assignment.quant and form.dtype in LEVELS and form.tensor not in scaled
    }


#: The share of the values outside a range, and the sum of their squared distances from it.
Clipping = tuple[float, float]


def coverage(
    model: Model,
    observations: Observations,
    ranges: Mapping[int, ScaleRange],
    counted: Mapping[int, Clipping] | None = None,
) -> tuple[TensorCoverage, ...]:
    """Return the coverage of each tensor that is both in ``observations`` and ``ranges``, in the order in which the
    tensors are computed.

    ``counted`` is the result of ``count_clipped`` for tensors whose histogram is not exact enough.
    """
    counted = counted or {}
    g = model.main
    makers = dict.fromkeys(g.inputs, "input")
    makers |= {i: op.name for op in g.ops for i in op.outputs if i >= 0}
    order = [i for i in makers if i in ranges and i in observations.tensors]
    return tuple(
        tensor_coverage(observations.tensors[i], ranges[i], makers[i], counted.get(i)) for i in order
    )


def count_clipped(
    flatbuffer: bytes, samples: Sequence[Sequence[np.ndarray]], ranges: Mapping[int, ScaleRange]
) -> dict[int, Clipping]:
    """Run the float model again and count the clipped values of each tensor of ``ranges``.

    The counts are exact. A count from a histogram has an error of up to one bin, and a bin can hold many equal values,
    for example of a saturated sensor.
    """
    outside, error, count = dict.fromkeys(ranges, 0), dict.fromkeys(ranges, 0.0), dict.fromkeys(ranges, 0)
    for sample_values in run_tensor_values(flatbuffer, samples, list(ranges)):
        for i, span in ranges.items():
            value = sample_values[i].astype(np.float64)
            distance = np.maximum(np.maximum(span.low - value, value - span.high), 0.0)
            is_clipped = distance > span.step / 2
            outside[i] += int(is_clipped.sum())
            error[i] += float((distance[is_clipped] ** 2).sum())
            count[i] += value.size
    return {i: (outside[i] / max(count[i], 1), error[i]) for i in ranges}


def tensor_coverage(
    stats: TensorStats, span: ScaleRange, made_by: str = "", counted: Clipping | None = None
) -> TensorCoverage:
    """Return the coverage of one tensor. ``span`` is the range of its scale. ``counted`` replaces the share and
    error of clipped values that are estimated from the histogram."""
    width = max(span.high - span.low, 1e-30)
    inner_low, inner_high = bulk_range(stats)

    def share(low: float, high: float) -> float:
        return max(0.0, min(high, span.high) - max(low, span.low)) / width

    inner = max(abs(inner_low), abs(inner_high))
    outlier = max(abs(stats.low), abs(stats.high)) / inner if inner > 0 else 1.0
    clipped, error = counted if counted is not None else _clipping(stats, span)
    signal = stats.rms**2 * stats.count
    noise = span.step**2 / 12 * stats.count * (1 - clipped) + error
    sqnr = 10 * np.log10(max(signal, 1e-60) / max(noise, 1e-60))
    return TensorCoverage(
        stats.index,
        stats.name,
        made_by,
        span.low,
        span.high,
        stats.low,
        stats.high,
        share(min(stats.low, 0.0), max(stats.high, 0.0)),
        share(min(inner_low, 0.0), max(inner_high, 0.0)),
        max(outlier, 1.0),
        clipped,
        float(sqnr),
    )


def bulk_range(stats: TensorStats, part: float = BULK) -> tuple[float, float]:
    """Return (low, high) of the range that contains the share ``part`` of the values. The same share of values is left
    out on each side. The error is at most the width of a histogram bin."""
    edges = _edges(stats)
    below = np.cumsum(stats.bins)
    tail = stats.count * (1 - part) / 2
    first = int(np.searchsorted(below, tail, side="right"))
    last = int(np.searchsorted(below, stats.count - tail, side="left"))
    return max(stats.low, float(edges[first])), min(stats.high, float(edges[last + 1]))


def _edges(stats: TensorStats) -> np.ndarray:
    """Return the edges of the histogram's bins: float64 [BINS + 1]."""
    return cast(np.ndarray, np.linspace(-1.0, 1.0, BINS + 1) * np.ldexp(1.0, stats.exponent))


def _clipping(stats: TensorStats, span: ScaleRange) -> Clipping:
    """Estimate the share of the values that are more than half a step outside ``span``, and the sum of their squared
    distances from it.

    Values are assumed to be evenly distributed within the bin at the border.
    """
    low, high = span.low - span.step / 2, span.high + span.step / 2
    if stats.low >= low and stats.high <= high:
        return 0.0, 0.0
    edges = _edges(stats)
    # The smallest and the largest value are known exactly, so the outermost bins are limited to them.
    left = np.clip(edges[:-1], stats.low, stats.high)
    right = np.clip(edges[1:], stats.low, stats.high)
    width = np.maximum(right - left, 1e-300)
    total = error = 0.0
    for start, end, border in (
        (left, np.minimum(right, low), span.low),
        (np.maximum(left, high), right, span.high),
    ):
        share = np.clip((end - start) / width, 0.0, 1.0)
        share = np.where(
            (right == left) & ((left < low) if border == span.low else (left > high)), 1.0, share
        )
        number = stats.bins * share
        total += float(number.sum())
        error += float(np.dot(number, ((start + end) / 2 - border) ** 2))
    # At least one value is outside: the smallest or the largest.
    return max(total, 1.0) / stats.count, error
