"""Chooses the threshold that shows the inferences when only the current is known.

Neighbouring thresholds that all show the same windows are a plateau: a step of the current. A board that
sleeps between inferences has two of them, its whole time awake and the inferences within it, and the upper
one is right. Above it come steps between the layers of one inference, which are wrong: they leave out energy,
or cut inferences into unequal pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arenite.host.energy.meters.trace import Trace

#: A step of less than this ratio is noise, or a layer.
STEP = 1.5
#: Windows that hold less of the energy above the lowest level leave out a part of the inference.
MIN_HELD_SHARE = 0.9
#: Inferences differ by no more than this in energy and length; pieces of one differ more.
SIMILAR_LENGTHS = 0.03
#: A board that stays awake shows one long window with at least this many of these in it; they may differ
#: more, because layers do not repeat as often.
MANY_WINDOWS, ALIKE_AWAKE = 3, 0.2
#: An end that moves by less, as a share of the window, is the same edge.
MAX_EDGE_SHIFT = 0.01


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """Windows above one threshold; ``spans``: start and end in s, shape (n, 2)."""

    threshold_w: float
    spans: NDArray[np.float64]

    @property
    def length(self) -> float:
        """Median, in s."""
        return float(np.median(self.spans[:, 1] - self.spans[:, 0]))


def choose_threshold(trace: Trace, candidates: Sequence[ThresholdResult], lowest_w: float) -> ThresholdResult:
    """The windows that are most likely inferences; ``candidates`` by growing threshold, not empty."""
    plateaus = _plateaus(candidates)
    best = _best(trace, plateaus, _middle(max(plateaus, key=len)), lowest_w)
    return _awake(trace, plateaus, best) or best


def _best(
    trace: Trace, plateaus: Sequence[Sequence[ThresholdResult]], begin: ThresholdResult, lowest_w: float
) -> ThresholdResult:
    """Better windows, after those of ``begin``, that hold nearly as much energy."""
    held = [_held(trace, _middle(plateau).spans, lowest_w) for plateau in plateaus]
    best, count = begin, len(begin.spans)
    for plateau, joules in zip(plateaus, held, strict=True):
        candidate = _middle(plateau)
        clear = plateau[-1].threshold_w >= STEP * plateau[0].threshold_w and joules >= MIN_HELD_SHARE * max(
            held
        )
        more_windows = len(candidate.spans) > count and _alike(trace, candidate.spans)
        if clear and (
            more_windows or (len(candidate.spans) == count and _within(candidate.spans, best.spans))
        ):
            best = candidate
    return best


def _awake(
    trace: Trace, plateaus: Sequence[Sequence[ThresholdResult]], outer: ThresholdResult
) -> ThresholdResult | None:
    """The inferences of a board that stays awake between them, when ``outer`` is its whole time awake: its
    power between inferences is then their baseline. None when ``outer`` has no such windows in it."""
    for k, plateau in enumerate(plateaus):
        inner = _middle(plateau)
        clear = plateau[-1].threshold_w >= STEP * plateau[0].threshold_w
        if clear and inner.threshold_w > outer.threshold_w and _many_in(trace, inner.spans, outer.spans):
            return _best(trace, plateaus[k:], inner, _between_w(trace, inner.spans, outer.spans))
    return None


def _many_in(trace: Trace, inner: NDArray[np.float64], outer: NDArray[np.float64]) -> bool:
    """Return whether each window of ``outer`` contains several similar ones of ``inner``, and none at its ends."""
    first = np.searchsorted(inner[:, 0], outer[:, 0])
    last = np.searchsorted(inner[:, 0], outer[:, 1])
    if len(inner) < MANY_WINDOWS or np.any(
        last - first < (MANY_WINDOWS if len(outer) >= MANY_WINDOWS else 1)
    ):
        return False
    if len(outer) < MANY_WINDOWS:
        return _alike(trace, inner, ALIKE_AWAKE)
    min_shift = MAX_EDGE_SHIFT * float(np.median(inner[:, 1] - inner[:, 0]))
    ends = np.median([inner[first, 0] - outer[:, 0], outer[:, 1] - inner[last - 1, 1]], axis=1)
    return bool(np.all(ends > min_shift)) and _alike(trace, inner)


def _between_w(trace: Trace, inner: NDArray[np.float64], outer: NDArray[np.float64]) -> float:
    """Mean watts within ``outer`` and not within ``inner``."""
    awake, busy = (trace.joules_at(spans) for spans in (outer, inner))
    joules = np.sum(awake[:, 1] - awake[:, 0]) - np.sum(busy[:, 1] - busy[:, 0])
    seconds = np.sum(outer[:, 1] - outer[:, 0]) - np.sum(inner[:, 1] - inner[:, 0])
    return float(max(joules / seconds, 0.0)) if seconds > 0 else 0.0


def _plateaus(candidates: Sequence[ThresholdResult]) -> list[list[ThresholdResult]]:
    """Return the runs of thresholds with as many windows of nearly the same length."""
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


def _held(trace: Trace, spans: NDArray[np.float64], lowest_w: float) -> float:
    """Return the joules above the lowest level within the windows."""
    at = trace.joules_at(spans)
    return float(np.sum(at[:, 1] - at[:, 0]) - lowest_w * np.sum(spans[:, 1] - spans[:, 0]))


def _within(inner: NDArray[np.float64], outer: NDArray[np.float64]) -> bool:
    """Both ends are further inside: a board is awake before and after, a layer is missing on one side."""
    if len(inner) != len(outer):
        return True
    moved = np.median(np.abs(inner - outer), axis=0) / np.median(outer[:, 1] - outer[:, 0])
    return bool(np.all(moved > MAX_EDGE_SHIFT))


def _alike(trace: Trace, spans: NDArray[np.float64], limit: float = SIMILAR_LENGTHS) -> bool:
    at = trace.joules_at(spans)
    values = (at[:, 1] - at[:, 0], spans[:, 1] - spans[:, 0])
    return all(float(np.std(figures)) < limit * float(np.mean(figures)) for figures in values)
