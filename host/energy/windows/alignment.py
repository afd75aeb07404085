"""Align the times of inferences by the host's clock with a recording by the meter's clock: find offset and drift of the
two clocks.

The intervals of the inferences are moved over the power as a template. At the right place, the mean power within the
intervals minus the mean power of their flanks (the times just before and after them) is largest. A coarse place comes
from a correlation at a few drifts. Then offset and drift are searched together on finer and finer grids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arenite.errors import DeviceError
from arenite.host.energy.meters.trace import Floats, Trace
from arenite.host.energy.windows.activity import InferenceWindow

#: The maximum number of bins of the coarse correlation.
BINS = 1 << 17
#: The default largest relative drift. Two crystals differ by less than 200 ppm; for a timer on an RC oscillator, which
#: differs by up to one percent, set ``max_drift``.
MAX_DRIFT = 500e-6
#: The number of refinements of the grid.
ROUNDS = 8
Curve = tuple[Floats, Floats]  # times and joules, the result of Trace.cumulative


@dataclass(frozen=True, slots=True)
class Alignment:
    """The relation of two clocks: ``trace time = offset_s + (1 + drift) · event time``."""

    offset_s: float
    drift: float
    contrast: float  # mean power within the intervals divided by the mean power of their flanks

    def apply(self, events: Sequence[tuple[float, float]]) -> list[InferenceWindow]:
        """Return the intervals ``events`` in the time of the trace."""
        return [
            InferenceWindow(self.offset_s + (1 + self.drift) * a, self.offset_s + (1 + self.drift) * b)
            for a, b in events
        ]


def align(trace: Trace, events: Sequence[tuple[float, float]], max_drift: float = MAX_DRIFT) -> Alignment:
    """Return the alignment of ``events``, the start and end of every inference in seconds of another clock, in order.

    Raises:
        DeviceError: there are no events, or at no place the power within the events is higher than beside them.
    """
    trace.require(16)
    spans = np.asarray(events, dtype=np.float64).reshape(-1, 2)
    if len(spans) == 0 or np.any(spans[:, 1] <= spans[:, 0]):
        raise DeviceError(
            "There are no valid timestamps of inferences to align.",
            "Give the start and end of each inference; the end must be later.",
        )
    middle = float(spans.mean())
    length = float(np.median(spans[:, 1] - spans[:, 0]))
    reach = float(np.ptp(spans)) / 2
    energy = trace.cumulative()
    place, drift, step = _coarse_place(trace, energy, spans - middle, length, reach, max_drift)
    drift_step = min(max_drift, length / 4 / max(reach, length))
    # Each round tries 17 places and 17 drifts around the best ones. The next round has a quarter of the steps.
    for _ in range(ROUNDS):
        places = place + np.linspace(-2, 2, 17) * step
        drifts = np.clip(drift + np.linspace(-2, 2, 17) * drift_step, -max_drift, max_drift)
        best = max(
            (float(score), float(p), float(d))
            for d in drifts
            for p, score in zip(places, _scores(energy, spans - middle, places, float(d)), strict=True)
        )
        _, place, drift = best
        step, drift_step = step / 4, drift_step / 4
    result = Alignment(place - (1 + drift) * middle, drift, 0.0)
    inside, beside = _inside_and_beside(energy, spans - middle, np.array([place]), drift)
    flank = float(beside[0])
    contrast = float(inside[0]) / flank if flank > 0 else float("inf")
    if not contrast > 1.05:
        raise DeviceError(
            f"The timestamps do not match the current anywhere (contrast {contrast:.2f}).",
            "Check that the meter is connected to the board that ran, and that the recording covers the run.",
        )
    return Alignment(result.offset_s, result.drift, contrast)


def _coarse_place(
    trace: Trace, energy: Curve, spans: Floats, length: float, reach: float, max_drift: float
) -> tuple[float, float, float]:
    """Return the time of the trace at the middle of the events, the drift, and the largest error of this time in
    seconds, from correlations on even bins."""
    seconds = max(trace.seconds, 2 * reach)
    width = max(length / 8, 1.5 * seconds / BINS)
    edges = np.arange(trace.time_s[0], trace.time_s[-1] + width, width)
    power = np.diff(np.interp(edges, *energy)) / width
    power = power - power.mean()
    count = 1 << int(np.ceil(np.log2(len(power) + 2 * reach / width + 16)))
    spectrum = np.fft.rfft(power, count)
    tries = int(min(np.ceil(max_drift * reach / (length / 2)), 20))
    best = (-np.inf, 0.0, 0.0)
    for drift in np.linspace(-max_drift, max_drift, 2 * tries + 1) if tries else [0.0]:
        bins = (spans + reach) * (1 + drift) / width
        template = _template(bins, int(np.ceil(2 * reach * (1 + max_drift) / width)) + 2)
        match = np.fft.irfft(spectrum * np.conj(np.fft.rfft(template, count)), count)
        at = int(np.argmax(match))
        if match[at] > best[0]:
            shift = at if at < len(power) else at - count
            best = (float(match[at]), trace.time_s[0] + shift * width + reach * (1 + drift), float(drift))
    return best[1], best[2], width


def _template(spans: Floats, count: int) -> Floats:
    """Return a template of ``count`` bins: 1 within the spans, a fraction in the bins in which a span begins or ends,
    otherwise 0. Spans are in units of bins."""
    grid = np.arange(count + 1, dtype=np.float64)
    covered = np.zeros(count + 1)
    for start, end in spans:
        covered += np.clip(grid, start, end) - start
    return np.diff(covered)


def _inside_and_beside(energy: Curve, spans: Floats, places: Floats, drift: float) -> tuple[Floats, Floats]:
    """Return, for each place, the mean power within all intervals, and the mean power within their flanks, which have a
    quarter of their length; shape (places,) each."""
    start, end = (spans * (1 + drift)).T
    flank = (end - start) / 4
    points: NDArray[np.float64] = np.stack([start - flank, start, end, end + flank])
    at = np.interp(places[:, None, None] + points[None], *energy)
    inside = (at[:, 2] - at[:, 1]).sum(1) / (end - start).sum()
    beside = (at[:, 1] - at[:, 0] + at[:, 3] - at[:, 2]).sum(1) / (2 * flank).sum()
    return inside, beside


def _scores(energy: Curve, spans: Floats, places: Floats, drift: float) -> Floats:
    inside, beside = _inside_and_beside(energy, spans, places, drift)
    return inside - beside
