"""From when on a run is steady: MSER, the marginal standard error rule.

Of all cuts it takes the one that leaves the mean of the rest known best: the smallest sum of squared deviations over
the squared number of values left. A cut in the second half means that the run never settled: one that still drifts is
cut ever later. Values are means of batches, as in MSER-5, so that a stray one at the end does not decide. (K. P. White
Jr., "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

#: Fewer values after the cut tell nothing.
MIN_VALUES = 6
#: A long series is looked at in so many batches.
BATCHES = 24
#: Only a rest that is known better by this factor moves the cut into the second half.
_CLEAR = 0.6


@dataclass(frozen=True, slots=True)
class SteadyState:
    """``begin``: index of the first steady value, None where there is none. ``unsettled``: series that still change."""

    begin: int | None
    unsettled: tuple[str, ...] = ()


def mser(values: Sequence[float]) -> int:
    """How many values to cut off; more than half of them where the series has not settled."""
    batch = max(1, len(values) // BATCHES)
    count = len(values) // batch
    if count <= MIN_VALUES:
        return 0
    # Values that make no whole batch are the first ones.
    spare = len(values) - count * batch
    x = np.asarray(values, np.float64)[spare:].reshape(count, batch).mean(axis=1)
    x = x - np.median(x)  # sums of squares about the middle: nothing is cancelled
    left = np.arange(count, 0, -1)
    sums, squares = (np.cumsum(each[::-1])[::-1] for each in (x, x * x))
    spread = np.maximum(squares - sums * sums / left, 0.0)
    error = (spread / (left * left.astype(np.float64)))[: count - MIN_VALUES + 1]
    half = error[: count // 2 + 1]
    chosen = error if error.min() < _CLEAR * half.min() else half
    cut = int(np.argmax(chosen <= chosen.min() * (1 + 1e-9) + 1e-18))
    return cut * batch + spare if cut else 0


def find_steady_state(series: Mapping[str, Sequence[float]], slack: Mapping[str, float]) -> SteadyState:
    """The first index from which on every series is steady; all of one length.

    ``slack``: for each series the change over the steady part that does not matter: a series that drifts less than
    that, or varies by less, is steady from where it begins to.
    """
    begin, unsettled = 0, []
    for name, values in series.items():
        if len(values) < 2 * MIN_VALUES:
            unsettled.append(name)
            continue
        cut = _cut(values, slack.get(name, 0.0))
        if cut > len(values) // 2:
            unsettled.append(name)
        begin = max(begin, cut)
    if unsettled or not series:
        return SteadyState(None, tuple(unsettled))
    return SteadyState(begin)


def _cut(values: Sequence[float], slack: float) -> int:
    """By MSER, or earlier where the drift from there on is small enough."""
    late = mser(values)
    x = np.asarray(values, np.float64)
    # From which on everything stays within the slack of the last third's mean.
    outside = np.flatnonzero(np.abs(x - x[-max(1, len(x) // 3) :].mean()) > slack / 2)
    early = int(outside[-1]) + 1 if len(outside) else 0
    return min(late, early)
