"""Choose the threshold that shows the inferences if only the current is known.

The times with a power above a threshold are its windows. Neighboring thresholds that all show the same windows are
called a plateau; it corresponds to a step of the current. A board that sleeps between inferences has two plateaus: the
windows of the lower plateau are the times in which the board is awake, and those of the upper plateau are the
inferences. The upper plateau is right. Still higher plateaus correspond to steps between the layers of one inference.
They are wrong, because they leave out energy or cut inferences into unequal pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arenite.host.energy.meters.trace import Trace

#: A step of the current of less than this ratio is noise or a layer.
MIN_STEP_RATIO = 1.5
#: Windows with less than this share of the energy above the lowest level leave out a part of the inference.
MIN_ENERGY_SHARE = 0.9
#: The maximum relative deviation of energy and length between inferences. Pieces of one inference differ more.
MAX_DEVIATION = 0.03
#: A board that stays awake shows one long window that contains at least MANY_WINDOWS inferences. These may differ by
#: MAX_DEVIATION_AWAKE, because layers do not repeat as often.
MANY_WINDOWS, MAX_DEVIATION_AWAKE = 3, 0.2
#: Two ends that differ by less than this share of the window are the same edge.
MAX_EDGE_SHIFT = 0.01


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """The windows above one threshold. ``spans`` are start and end in seconds, shape (n, 2)."""

    threshold_w: float
    spans: NDArray[np.float64]

    @property
    def length(self) -> float:
        """Return the median length of the windows in seconds."""
        return float(np.median(self.spans[:, 1] - self.spans[:, 0]))


def choose_threshold(trace: Trace, candidates: Sequence[ThresholdResult], lowest_w: float) -> ThresholdResult:
    """Return the candidate whose windows are most likely inferences. ``candidates`` are sorted by ascending threshold
    and not empty."""
    plateaus = _plateaus(candidates)
    best = _best(trace, plateaus, _middle(max(plateaus, key=len)), lowest_w)
    return _inferences_within(trace, plateaus, best) or best


def _best(
    trace: Trace, plateaus: Sequence[Sequence[ThresholdResult]], begin: ThresholdResult, lowest_w: float
) -> ThresholdResult:
    """Return ``begin``, or a higher threshold whose windows fit better and have nearly as much energy."""
    energies = [_energy_j(trace, _middle(plateau).spans, lowest_w) for plateau in plateaus]
    best, count = begin, len(begin.spans)
    for plateau, joules in zip(plateaus, energies, strict=True):
        candidate = _middle(plateau)
        clear = plateau[-1].threshold_w >= MIN_STEP_RATIO * plateau[
            0
        ].threshold_w and joules >= MIN_ENERGY_SHARE * max(energies)
        more_windows = len(candidate.spans) > count and _are_alike(trace, candidate.spans)
        if clear and (
            more_windows or (len(candidate.spans) == count and _is_within(candidate.spans, best.spans))
        ):
            best = candidate
    return best


def _inferences_within(
    trace: Trace, plateaus: Sequence[Sequence[ThresholdResult]], outer: ThresholdResult
) -> ThresholdResult | None:
    """Return the windows of the inferences if the windows of ``outer`` are the times in which the board is awake, with
    several inferences each. In this case the power between these inferences is the baseline. Return None if the windows
    of ``outer`` do not contain several inferences each."""
    for k, plateau in enumerate(plateaus):
        inner = _middle(plateau)
        clear = plateau[-1].threshold_w >= MIN_STEP_RATIO * plateau[0].threshold_w
        if clear and inner.threshold_w > outer.threshold_w and _many_in(trace, inner.spans, outer.spans):
            return _best(trace, plateaus[k:], inner, _mean_w_between(trace, inner.spans, outer.spans))
    return None


def _many_in(trace: Trace, inner: NDArray[np.float64], outer: NDArray[np.float64]) -> bool:
    """Return whether each window of ``outer`` contains several similar windows of ``inner``, of which none begins or
    ends at an end of the outer window."""
    first = np.searchsorted(inner[:, 0], outer[:, 0])
    last = np.searchsorted(inner[:, 0], outer[:, 1])
    if len(inner) < MANY_WINDOWS or np.any(
        last - first < (MANY_WINDOWS if len(outer) >= MANY_WINDOWS else 1)
    ):
        return False
    if len(outer) < MANY_WINDOWS:
        return _are_alike(trace, inner, MAX_DEVIATION_AWAKE)
    min_shift = MAX_EDGE_SHIFT * float(np.median(inner[:, 1] - inner[:, 0]))
    ends = np.median([inner[first, 0] - outer[:, 0], outer[:, 1] - inner[last - 1, 1]], axis=1)
    return bool(np.all(ends > min_shift)) and _are_alike(trace, inner)


def _mean_w_between(trace: Trace, inner: NDArray[np.float64], outer: NDArray[np.float64]) -> float:
    """Return the mean watts within ``outer`` but outside ``inner``."""
    awake, busy = (trace.joules_at(spans) for spans in (outer, inner))
    joules = np.sum(awake[:, 1] - awake[:, 0]) - np.sum(busy[:, 1] - busy[:, 0])
    seconds = np.sum(outer[:, 1] - outer[:, 0]) - np.sum(inner[:, 1] - inner[:, 0])
    return float(max(joules / seconds, 0.0)) if seconds > 0 else 0.0


def _plateaus(candidates: Sequence[ThresholdResult]) -> list[list[ThresholdResult]]:
    """Return groups of neighboring thresholds that have the same number of windows of nearly the same length."""
    runs: list[list[ThresholdResult]] = []
    for candidate in candidates:
        if (
            runs
            and len(candidate.spans) == len(runs[-1][0].spans)
            and abs(candidate.length / runs[-1][0].length - 1) < 0.02
        ):
            runs[-1].append(candidate)
        else:
            runs.append([candidate])
    return runs


def _middle(plateau: Sequence[ThresholdResult]) -> ThresholdResult:
    return plateau[len(plateau) // 2]


def _energy_j(trace: Trace, spans: NDArray[np.float64], lowest_w: float) -> float:
    """Return the joules within the windows above the lowest power, ``lowest_w``."""
    at = trace.joules_at(spans)
    return float(np.sum(at[:, 1] - at[:, 0]) - lowest_w * np.sum(spans[:, 1] - spans[:, 0]))


def _is_within(inner: NDArray[np.float64], outer: NDArray[np.float64]) -> bool:
    """Return whether the windows of ``inner`` are shorter than those of ``outer`` at both ends. That is the case for
    inferences within a time awake. A missing layer shortens the window at one end only."""
    if len(inner) != len(outer):
        return True
    moved = np.median(np.abs(inner - outer), axis=0) / np.median(outer[:, 1] - outer[:, 0])
    return bool(np.all(moved > MAX_EDGE_SHIFT))


def _are_alike(trace: Trace, spans: NDArray[np.float64], limit: float = MAX_DEVIATION) -> bool:
    """Return whether the standard deviations of the windows' energies and lengths, relative to their means, are below
    ``limit``."""
    at = trace.joules_at(spans)
    values = (at[:, 1] - at[:, 0], spans[:, 1] - spans[:, 0])
    return all(float(np.std(figures)) < limit * float(np.mean(figures)) for figures in values)
