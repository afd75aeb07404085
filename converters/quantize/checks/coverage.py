"""The use of each tensor's range by real values.

A scale that is too narrow clips; one that is too wide wastes steps on values that never occur. Both are reported per
tensor from histograms (``observe``) of the calibration samples themselves, or of other samples (``check_data``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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

#: The bulk of a tensor's values: all but the outermost 0.05 % on each side.
BULK = 0.999

#: Below this share of the range the bulk wastes more than two of eight bits.
_POOR_USE = 0.25

#: With this little noise, as with 16 bits, a poor use of the range costs nothing.
_QUIET_DB = 50.0


@dataclass(frozen=True)
class ScaleRange:
    """Real values from ``low`` to ``high``, in ``levels`` steps."""

    low: float
    high: float
    levels: int

    @property
    def step(self) -> float:
        return (self.high - self.low) / (self.levels - 1)


@dataclass(frozen=True)
class TensorCoverage:
    """The values of one tensor against the range of its scale.

    ``used`` and ``bulk``: shares of the range that all values, and the bulk of them, span (at most 1). ``clipped``:
    share of the values outside. ``outlier``: the largest magnitude over that of the bulk, 1 when there are no outliers.
    ``sqnr_db``: energy of the values over that of rounding and clipping, estimated (a uniform error of one step).
    """

    index: int
    name: str
    made_by: str  # operator, or "input"
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
        """A sentence when the range fits the values badly."""
        name = f"{self.made_by} tensor {self.index} '{short_name(self.name)}'"
        if self.bulk < _POOR_USE and self.outlier > 2 and self.sqnr_db < _QUIET_DB:
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
    """Return the first of the names that a converter joined when it fused operators."""
    return name.split(";")[0]


def range_of(quant: Quantization, dtype: str) -> ScaleRange:
    """Return the real values that a per-tensor quantization holds."""
    low, high = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}[dtype]
    scale, zero = quant.scale[0], quant.zero_point[0]
    return ScaleRange(scale * (low - zero), scale * (high - zero), high - low + 1)


def quantized_ranges(model: Model, recipe: Recipe, observations: Observations) -> dict[int, ScaleRange]:
    """Return the range that ``recipe`` gives each tensor that becomes an integer, by index of the float model's
    tensors.

    A tensor that several operators read in different forms counts in the form in which it is computed. Tensors whose
    channels the recipe's equalization scales are left out: they have no range in the units of the float model.
    """
    trained = trained_ranges(model)
    equalize = recipe.equalisation and not trained
    scaled = equalize_layers(to_flatbuffer(model)).scaled if equalize else frozenset[int]()
    assignment = assign_types(model.main, recipe, observations.tensors, trained=trained)
    return {
        form.tensor: range_of(assignment.quant[form], form.dtype)
        for form in assignment.made.values()
        if form in assignment.quant and form.dtype in LEVELS and form.tensor not in scaled
    }


#: Share of the values outside a range, and the sum of their squared distances from it.
Clipping = tuple[float, float]


def coverage(
    model: Model,
    observations: Observations,
    ranges: Mapping[int, ScaleRange],
    counted: Mapping[int, Clipping] | None = None,
) -> tuple[TensorCoverage, ...]:
    """Return the coverage of each tensor of ``ranges`` that was observed, in the order in which they are computed.

    ``counted``: the result of ``count_clipped``, for tensors where the histogram is not exact enough.
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
    """Run the float model again and count, for each tensor of ``ranges``.

    A histogram is wrong by up to one bin, and a bin can hold many equal values, for example of a saturated sensor.
    """
    outside, error, count = dict.fromkeys(ranges, 0), dict.fromkeys(ranges, 0.0), dict.fromkeys(ranges, 0)
    for sample_values in run_tensor_values(flatbuffer, samples, list(ranges)):
        for i, span in ranges.items():
            value = sample_values[i].astype(np.float64)
            away = np.maximum(np.maximum(span.low - value, value - span.high), 0.0)
            beyond = away > span.step / 2
            outside[i] += int(beyond.sum())
            error[i] += float((away[beyond] ** 2).sum())
            count[i] += value.size
    return {i: (outside[i] / max(count[i], 1), error[i]) for i in ranges}


def tensor_coverage(
    stats: TensorStats, held: ScaleRange, made_by: str = "", counted: Clipping | None = None
) -> TensorCoverage:
    width = max(held.high - held.low, 1e-30)
    inner_low, inner_high = bulk_range(stats)

    def share(low: float, high: float) -> float:
        return max(0.0, min(high, held.high) - max(low, held.low)) / width

    inner = max(abs(inner_low), abs(inner_high))
    outlier = max(abs(stats.low), abs(stats.high)) / inner if inner > 0 else 1.0
    clipped, error = counted if counted is not None else _clipping(stats, held)
    signal = stats.rms**2 * stats.count
    noise = held.step**2 / 12 * stats.count * (1 - clipped) + error
    sqnr = 10 * np.log10(max(signal, 1e-60) / max(noise, 1e-60))
    return TensorCoverage(
        stats.index,
        stats.name,
        made_by,
        held.low,
        held.high,
        stats.low,
        stats.high,
        share(min(stats.low, 0.0), max(stats.high, 0.0)),
        share(min(inner_low, 0.0), max(inner_high, 0.0)),
        max(outlier, 1.0),
        clipped,
        float(sqnr),
    )


def bulk_range(stats: TensorStats, part: float = BULK) -> tuple[float, float]:
    """Return the range of ``part`` of the values, with equal shares left out on each side, to a bin's width."""
    edges = _edges(stats)
    below = np.cumsum(stats.bins)
    tail = stats.count * (1 - part) / 2
    first = int(np.searchsorted(below, tail, side="right"))
    last = int(np.searchsorted(below, stats.count - tail, side="left"))
    return max(stats.low, float(edges[first])), min(stats.high, float(edges[last + 1]))


def _edges(stats: TensorStats) -> np.ndarray:
    value: np.ndarray = np.linspace(-1.0, 1.0, BINS + 1) * np.ldexp(1.0, stats.exponent)
    return value


def _clipping(stats: TensorStats, span: ScaleRange) -> Clipping:
    """Share of the values that are more than half a step outside, and the sum of their squared distances.

    Values are assumed to be evenly distributed within the bin at the border.
    """
    low, high = span.low - span.step / 2, span.high + span.step / 2
    if stats.low >= low and stats.high <= high:
        return 0.0, 0.0
    edges = _edges(stats)
    # The outermost values are known exactly, their bins only roughly.
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
    # At least one value: the outermost one is outside.
    return max(total, 1.0) / stats.count, error
