"""Four ways to choose the range of a tensor from its observed values.

Each calibrator takes the statistics of one tensor and the number of quantization levels, and returns ``(low, high)``
with low <= 0 <= high, so that zero can be represented exactly. The range is never wider than the observed values and
zero.

- ``minmax``: the range of all observed values.
- ``percentile``: the range without the outermost values (parameter ``percentile``, default 99.99).
- ``mse``: the range with the least mean squared error of rounding and clipping.
- ``entropy``: the range that keeps most of the distribution's information (least Kullback-Leibler divergence between
  the distribution and its quantized form), as described by S. Migacz, "8-bit inference with TensorRT", GTC 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from arenite.converters.quantize.calibration.observations import TensorStats
from arenite.errors import UsageError

ValueRange = tuple[float, float]

#: The largest share of the values that ``entropy`` may clip. Without this limit it clips many more values if a few
#: values are very frequent (for example the output of a layer for a plain background), because only a small step
#: separates these values from their neighbors.
_MAX_CLIPPED_SHARE = 0.001

#: The number of ranges that ``mse`` tries, and the narrowest range as a share of the observed range.
_STEPS = 64
_MIN_SHARE = 0.2

#: From this number of levels on, the histogram is coarser than the quantization, and clipping cannot help.
_FINE_LEVELS = 4096


def minmax(stats: TensorStats, levels: int) -> ValueRange:
    """Return the range of all observed values and zero."""
    return min(stats.low, 0.0), max(stats.high, 0.0)


def percentile(stats: TensorStats, levels: int, *, percentile: float = 99.99) -> ValueRange:
    """Return the range without (100 - percentile) % of the values. If there are negative and positive values, half of
    this share is left out on each side."""
    low, high = minmax(stats, levels)
    sides = (low < 0) + (high > 0)
    tail = stats.count * (100.0 - percentile) / 100.0 / max(sides, 1)
    edges = np.linspace(-1.0, 1.0, stats.bins.size + 1) * np.ldexp(1.0, stats.exponent)
    below = np.cumsum(stats.bins)
    first = int(np.searchsorted(below, tail, side="right"))
    last = int(np.searchsorted(below, stats.count - tail, side="left"))
    return min(max(low, float(edges[first])), 0.0), max(min(high, float(edges[last + 1])), 0.0)


def mse(stats: TensorStats, levels: int) -> ValueRange:
    """Return the range with the smallest mean squared error of the values in the histogram."""
    low, high = minmax(stats, levels)
    if levels >= _FINE_LEVELS or low == high:
        return low, high
    filled = stats.bins > 0
    values, counts = stats.centers()[filled], stats.bins[filled].astype(np.float64)

    def error(a: float, b: float) -> float:
        step = (b - a) / (levels - 1)
        nearest = np.clip(np.rint((values - a) / step), 0, levels - 1) * step + a
        return float(np.dot(counts, (values - nearest) ** 2))

    shares = np.linspace(1.0, _MIN_SHARE, _STEPS)
    both = float(shares[int(np.argmin([error(low * s, high * s) for s in shares]))])
    a, b = low * both, high * both
    for _ in range(2):  # optimize each end separately
        if low < 0:
            a = low * float(
                shares[int(np.argmin([error(low * s, b) if low * s < b else np.inf for s in shares]))]
            )
        if high > 0:
            b = high * float(
                shares[int(np.argmin([error(a, high * s) if a < high * s else np.inf for s in shares]))]
            )
    return a, b


def entropy(stats: TensorStats, levels: int) -> ValueRange:
    """Return the range with the smallest Kullback-Leibler divergence. It is symmetric if there are negative values,
    apart from the limits of the observed values."""
    low, high = minmax(stats, levels)
    if levels >= _FINE_LEVELS or low == high:
        return low, high
    half = stats.bins.size // 2
    if low < 0:
        magnitudes = stats.bins[half:] + stats.bins[:half][::-1]
        steps = levels // 2
    else:
        magnitudes, steps = stats.bins[half:], levels
    counts = magnitudes.astype(np.float64)
    counts[0] = 0.0  # the zeros of a RELU are exact in any range, and would outweigh all other values
    if not counts.any():
        return low, high
    used = int(np.flatnonzero(counts)[-1]) + 1
    covers_enough = np.cumsum(magnitudes) >= (1 - _MAX_CLIPPED_SHARE) * magnitudes.sum()
    first = max(steps, int(np.argmax(covers_enough)) + 1)
    best, limit = np.inf, used
    for end in range(first, used + 1, max(1, used // 256)):  # about 256 ranges at most
        divergence = _divergence(counts, end, steps)
        if divergence < best:
            best, limit = divergence, end
    edge = limit / half * float(np.ldexp(1.0, stats.exponent))
    return max(low, -edge), min(high, edge)


def _divergence(counts: np.ndarray, end: int, steps: int) -> float:
    """Return the Kullback-Leibler divergence between the values, clipped at bin ``end``, and the same values
    quantized to ``steps`` levels."""
    clipped = counts[:end].copy()
    clipped[-1] += counts[end:].sum()
    # The quantized form of the distribution: all filled bins of a level have the same count.
    level = (np.arange(end) * steps) // end
    present = counts[:end] > 0
    totals = np.bincount(level, weights=counts[:end], minlength=steps)
    filled_bins = np.bincount(level, weights=present, minlength=steps)
    spread = np.where(present, totals[level] / np.maximum(filled_bins[level], 1), 0.0)
    if not spread.sum():
        return np.inf
    p, q = clipped / clipped.sum(), spread / spread.sum()
    if np.any((p > 0) & (q == 0)):
        # Clipped values are in a bin that was empty: give the bin a very small probability.
        q = np.where((p > 0) & (q == 0), 1e-12, q)
    both = p > 0
    return float(np.sum(p[both] * np.log(p[both] / q[both])))


CALIBRATORS: dict[str, Callable[..., ValueRange]] = {
    "minmax": minmax,
    "percentile": percentile,
    "mse": mse,
    "entropy": entropy,
}

#: The parameters of each calibrator, with the lowest and highest allowed value.
PARAMETERS: dict[str, dict[str, tuple[float, float]]] = {"percentile": {"percentile": (50.0, 100.0)}}


def check_calibrator(name: str, parameters: Mapping[str, float]) -> None:
    """Raise ``UsageError`` for an unknown calibrator, parameter or value."""
    if name not in CALIBRATORS:
        raise UsageError(
            f"There is no calibrator '{name}'.", f"Give one of these names: {', '.join(CALIBRATORS)}."
        )
    known = PARAMETERS.get(name, {})
    for key, value in parameters.items():
        if key not in known:
            raise UsageError(
                f"The calibrator '{name}' has no parameter '{key}'.",
                f"It has {', '.join(known)}."
                if known
                else "Leave the parameter out: this calibrator has none.",
            )
        low, high = known[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise UsageError(f"The parameter {key} is {value!r}.", f"Give a number from {low:g} to {high:g}.")


def choose_range(stats: TensorStats, levels: int, name: str, parameters: Mapping[str, float]) -> ValueRange:
    """Return the range that the calibrator ``name`` chooses for a tensor."""
    low, high = CALIBRATORS[name](stats, levels, **parameters)
    return min(float(low), 0.0), max(float(high), 0.0)
