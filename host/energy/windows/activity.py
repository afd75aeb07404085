"""Finds inferences in the current itself: a threshold with hysteresis, and each edge where the level changes
most.

The threshold is searched: power is above it in an inference and below it between two. With a known length of
one inference the threshold is the one whose windows have this length; otherwise it is chosen from the steps
of the current (``thresholds.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arenite.errors import DeviceError
from arenite.host.energy.meters.trace import Floats, Trace
from arenite.host.energy.windows.thresholds import ThresholdResult, choose_threshold

SMOOTH_S = 200e-6
GRID = 1_000_000
THRESHOLDS = 80
#: A window ends when power is below this part of the threshold.
RELEASE_SHARE = 0.85
#: The total time above the highest threshold that is tried, in widths of the smoothing.
SHORTEST = 20
#: Windows with less energy than this part of the usual one are ignored.
NEGLIGIBLE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class InferenceWindow:
    """One inference in the time of the trace."""

    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


def find_active(
    trace: Trace, expected: int | None = None, duration_s: float | None = None
) -> tuple[list[InferenceWindow], float]:
    """Return the windows, and the threshold in watts.

    ``expected``: how many inferences there were; ``duration_s``: how long one lasts by the device's own
    clock. Windows that the recording cuts off are left out.

    Raises:
        DeviceError: no inference stands out, or never ``expected`` of them.
    """
    trace.require(16)
    times, power, width = _smoothed(trace)
    # A few short inferences in a long recording still show; a glitch of the meter is shorter than all of
    # them.
    rare = min(0.001, SHORTEST * width / trace.seconds)
    low, high = (float(level) for level in np.quantile(power, [0.02, 1 - rare]))
    # Zero and less are noise around zero: thresholds start above it.
    low = max(low, high * 1e-6)
    if not high > 1.2 * low:
        raise DeviceError(
            "The current hardly changes, so that no inference shows in it.",
            "Let the board pause between inferences, or connect a GPIO mark to the meter.",
        )
    results = []
    for threshold in np.geomspace(low * 1.1, high * 0.95, THRESHOLDS):
        spans = _spans(times, power, float(threshold), width, duration_s)
        if len(spans):
            results.append(ThresholdResult(float(threshold), spans))
    if expected is not None:
        counts = sorted({len(result.spans) for result in results})
        results = [result for result in results if len(result.spans) == expected]
        if not results:
            raise DeviceError(
                f"The current never shows {expected} inferences; it shows"
                f" {', '.join(map(str, counts[:8])) or 'none'}.",
                "Is the recording longer than the run at both ends? A GPIO mark gives exact windows.",
            )
    if not results:
        raise DeviceError(
            "No inference shows in the current.",
            "Record for longer, or connect a GPIO mark to the meter.",
        )
    best = _by_length(results, duration_s) if duration_s else choose_threshold(trace, results, low)
    spans = best.spans if expected is not None else _weighty(trace, best.spans)
    windows = [
        InferenceWindow(_edge(trace, start, width), _edge(trace, end, width)) for start, end in spans.tolist()
    ]
    return windows, best.threshold_w


def _smoothed(trace: Trace) -> tuple[Floats, Floats, float]:
    """Mean power over ``width`` seconds around points of an even grid."""
    width = max(1 / trace.rate_hz, SMOOTH_S)
    count = int(min(max(trace.seconds / width * 4, 16), GRID))
    times = np.linspace(trace.time_s[0] + width / 2, trace.time_s[-1] - width / 2, count)
    before, after = trace.joules_at(np.stack([times - width / 2, times + width / 2]))
    return times, (after - before) / width, width


def _spans(
    times: Floats, power: Floats, threshold: float, width: float, duration_s: float | None
) -> NDArray[np.float64]:
    """Start and end of each period above the threshold; short dips are part of it, short peaks are ignored."""
    known = np.where(power >= threshold, 1, np.where(power < RELEASE_SHARE * threshold, 0, -1)).astype(
        np.int8
    )
    last = np.maximum.accumulate(np.where(known >= 0, np.arange(len(known)), 0))
    state = np.maximum(known[last], 0)
    edges = np.flatnonzero(np.diff(state)) + 1
    if len(edges) and state[0]:
        edges = edges[1:]  # began before the recording
    edges = edges[: len(edges) // 2 * 2]
    spans = times[edges].reshape(-1, 2)
    if len(spans) == 0:
        return spans
    longest = float(np.max(spans[:, 1] - spans[:, 0]))
    least_gap = max(3 * width, 0.02 * (duration_s or longest))
    joined = np.flatnonzero(spans[1:, 0] - spans[:-1, 1] >= least_gap)
    spans = np.column_stack([spans[np.append(0, joined + 1), 0], spans[np.append(joined, len(spans) - 1), 1]])
    lengths = spans[:, 1] - spans[:, 0]
    min_length = max(2 * width, 0.3 * duration_s if duration_s else 0.2 * _usual(lengths))
    return np.asarray(spans[lengths >= min_length], dtype=np.float64)


def _weighty(trace: Trace, spans: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the windows without those of little energy: a radio or a serial port between two inferences."""
    at = trace.joules_at(spans)
    joules = at[:, 1] - at[:, 0]
    return np.asarray(spans[joules >= NEGLIGIBLE_SHARE * _usual(joules)], dtype=np.float64)


def _usual(lengths: Floats) -> float:
    """Return the length in which half of all the time above the threshold is spent or more, so that many glitches
    weigh little; in the same way for joules."""
    ranked = np.sort(lengths)
    spent = np.cumsum(ranked)
    return float(ranked[np.searchsorted(spent, spent[-1] / 2)])


def _by_length(results: list[ThresholdResult], duration_s: float) -> ThresholdResult:
    """Return the candidate nearest in length; among equally near ones the middle threshold."""
    misses = np.array([abs(result.length - duration_s) / duration_s for result in results])
    near = np.flatnonzero(misses <= misses.min() + 0.005)
    return results[int(near[len(near) // 2])]


def _edge(trace: Trace, at: float, width: float) -> float:
    """Return the time between the two samples near ``at`` where the means before and after differ most in the sense
    of least squares."""
    first, last = np.searchsorted(trace.time_s, [at - 2 * width, at + 2 * width])
    power = trace.power_of(slice(first, last))
    count = len(power)
    if count < 4:
        return at
    total = np.cumsum(power)
    left = np.arange(1, count)
    gain = total[:-1] ** 2 / left + (total[-1] - total[:-1]) ** 2 / (count - left)
    split = first + int(np.argmax(gain)) + 1
    return float((trace.time_s[split - 1] + trace.time_s[split]) / 2)
