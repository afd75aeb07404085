"""Find inferences in a recording from the current alone, by a threshold with hysteresis.

Power is above the threshold in an inference and below it between two inferences. The time of one inference is called a
window. Its edges are where the power changes most. If the duration of one inference is known, the threshold whose
windows have this length is used. Otherwise the threshold is chosen from the steps of the current (``thresholds.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arenite.errors import DeviceError
from arenite.host.energy.meters.trace import Floats, Trace
from arenite.host.energy.windows.thresholds import ThresholdResult, choose_threshold

#: The minimum width of the smoothing, in seconds.
SMOOTHING_S = 200e-6
#: The maximum number of points of the smoothed power.
MAX_GRID_POINTS = 1_000_000
#: The number of thresholds that are tried.
THRESHOLDS = 80
#: A window ends when power is below this share of the threshold.
RELEASE_SHARE = 0.85
#: The minimum total time above the highest threshold that is tried, as a multiple of the width of the smoothing.
MIN_ACTIVE_WIDTHS = 20
#: Windows with less than this share of the typical energy are ignored.
NEGLIGIBLE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class InferenceWindow:
    """The start and end of one inference in seconds of ``Trace.time_s``."""

    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


def find_active(
    trace: Trace, expected: int | None = None, duration_s: float | None = None
) -> tuple[list[InferenceWindow], float]:
    """Return the windows, and the threshold in watts.

    ``expected`` is the number of inferences, ``duration_s`` the duration of one inference by the device's own clock.
    Windows that the recording cuts off are left out.

    Raises:
        DeviceError: the current shows no inference, or no threshold gives ``expected`` windows.
    """
    trace.require(16)
    times, power, width = _smoothed(trace)
    # The quantile for the highest threshold must be low enough for a long recording with only a few short inferences. A
    # glitch of the meter is shorter than all inferences together.
    min_active_share = min(0.001, MIN_ACTIVE_WIDTHS * width / trace.seconds)
    low, high = (float(level) for level in np.quantile(power, [0.02, 1 - min_active_share]))
    # A power of zero or below is noise, so thresholds start above zero.
    low = max(low, high * 1e-6)
    if not high > 1.2 * low:
        raise DeviceError(
            "The current hardly changes, so it shows no inference.",
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
                "Record from before the run until after its end, or connect a GPIO mark for exact windows.",
            )
    if not results:
        raise DeviceError(
            "The current shows no inference.",
            "Record for longer, or connect a GPIO mark to the meter.",
        )
    best = _nearest_length(results, duration_s) if duration_s else choose_threshold(trace, results, low)
    spans = best.spans if expected is not None else _without_negligible(trace, best.spans)
    windows = [
        InferenceWindow(_edge(trace, start, width), _edge(trace, end, width)) for start, end in spans.tolist()
    ]
    return windows, best.threshold_w


def _smoothed(trace: Trace) -> tuple[Floats, Floats, float]:
    """Return (times on an even grid, mean power in the ``width`` seconds around each time, ``width``)."""
    width = max(1 / trace.rate_hz, SMOOTHING_S)
    count = int(min(max(trace.seconds / width * 4, 16), MAX_GRID_POINTS))
    times = np.linspace(trace.time_s[0] + width / 2, trace.time_s[-1] - width / 2, count)
    before, after = trace.joules_at(np.stack([times - width / 2, times + width / 2]))
    return times, (after - before) / width, width


def _spans(
    times: Floats, power: Floats, threshold: float, width: float, duration_s: float | None
) -> NDArray[np.float64]:
    """Return start and end of each period above the threshold, shape (n, 2). Short dips are a part of a period; short
    peaks are ignored."""
    # 1: above the threshold; 0: below the release level; -1: between them, where the state does not change.
    known = np.where(power >= threshold, 1, np.where(power < RELEASE_SHARE * threshold, 0, -1)).astype(
        np.int8
    )
    last = np.maximum.accumulate(np.where(known >= 0, np.arange(len(known)), 0))
    state = np.maximum(known[last], 0)
    edges = np.flatnonzero(np.diff(state)) + 1
    if len(edges) and state[0]:
        edges = edges[1:]  # the first period began before the recording
    edges = edges[: len(edges) // 2 * 2]
    spans = times[edges].reshape(-1, 2)
    if len(spans) == 0:
        return spans
    longest = float(np.max(spans[:, 1] - spans[:, 0]))
    min_gap = max(3 * width, 0.02 * (duration_s or longest))
    gaps = np.flatnonzero(spans[1:, 0] - spans[:-1, 1] >= min_gap)
    spans = np.column_stack([spans[np.append(0, gaps + 1), 0], spans[np.append(gaps, len(spans) - 1), 1]])
    lengths = spans[:, 1] - spans[:, 0]
    min_length = max(2 * width, 0.3 * duration_s if duration_s else 0.2 * _typical(lengths))
    return np.asarray(spans[lengths >= min_length], dtype=np.float64)


def _without_negligible(trace: Trace, spans: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``spans`` without the windows of little energy, such as a radio or a serial port between two
    inferences."""
    at = trace.joules_at(spans)
    joules = at[:, 1] - at[:, 0]
    return np.asarray(spans[joules >= NEGLIGIBLE_SHARE * _typical(joules)], dtype=np.float64)


def _typical(amounts: Floats) -> float:
    """Return the amount (seconds or joules) up to which the sorted amounts add up to half of the total. Unlike the
    median it hardly changes with many small amounts, which are glitches."""
    ranked = np.sort(amounts)
    total = np.cumsum(ranked)
    return float(ranked[np.searchsorted(total, total[-1] / 2)])


def _nearest_length(results: list[ThresholdResult], duration_s: float) -> ThresholdResult:
    """Return the result whose windows have a length nearest to ``duration_s``; the middle result if several are equally
    near."""
    errors = np.array([abs(result.length - duration_s) / duration_s for result in results])
    near = np.flatnonzero(errors <= errors.min() + 0.005)
    return results[int(near[len(near) // 2])]


def _edge(trace: Trace, at: float, width: float) -> float:
    """Return the time near ``at`` that best splits the power into two constant levels (least squares). The time is in
    the middle between two samples."""
    first, last = np.searchsorted(trace.time_s, [at - 2 * width, at + 2 * width])
    power = trace.power_of(slice(first, last))
    count = len(power)
    if count < 4:
        return at
    total = np.cumsum(power)
    left = np.arange(1, count)
    # The larger this sum, the smaller is the sum of the squared deviations from the two levels.
    gain = total[:-1] ** 2 / left + (total[-1] - total[:-1]) ** 2 / (count - left)
    split = first + int(np.argmax(gain)) + 1
    return float((trace.time_s[split - 1] + trace.time_s[split]) / 2)
