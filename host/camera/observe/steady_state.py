"""Find where a run becomes steady, by MSER, the marginal standard error rule.

The rule removes values from the beginning so that the mean of the rest is known best: it minimizes the sum of squared
deviations over the squared number of values left. A cut in the second half means that the run never settled, because a
run that still drifts is cut late. Values are means of batches, as in MSER-5, so that one outlier at the end does not
decide. (K. P. White
Jr., "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

#: At least this number of values must remain after the cut.
MIN_VALUES = 6
#: A long series is averaged into this number of batches.
BATCHES = 24
#: The cut moves into the second half only where that lowers the error to this share.
_CLEAR = 0.6


@dataclass(frozen=True, slots=True)
class SteadyState:
    """``begin`` is the index of the first steady value, None if there is none; ``unsettled`` names the series that
    still change."""

    begin: int | None
    unsettled: tuple[str, ...] = ()


def mser(values: Sequence[float]) -> int:
    """Return the number of values to remove from the beginning; more than half of them where the series has not
    settled."""
    batch = max(1, len(values) // BATCHES)
    count = len(values) // batch
    if count <= MIN_VALUES:
        return 0
    # The first values are left out where they do not fill a batch.
    spare = len(values) - count * batch
    x = np.asarray(values, np.float64)[spare:].reshape(count, batch).mean(axis=1)
    x = x - np.median(x)  # keeps the sums of squares free of cancellation
    left = np.arange(count, 0, -1)
    sums, squares = (np.cumsum(each[::-1])[::-1] for each in (x, x * x))
    spread = np.maximum(squares - sums * sums / left, 0.0)
    error = (spread / (left * left.astype(np.float64)))[: count - MIN_VALUES + 1]
    half = error[: count // 2 + 1]
    chosen = error if error.min() < _CLEAR * half.min() else half
    cut = int(np.argmax(chosen <= chosen.min() * (1 + 1e-9) + 1e-18))
    return cut * batch + spare if cut else 0


def find_steady_state(series: Mapping[str, Sequence[float]], slack: Mapping[str, float]) -> SteadyState:
    """The first index from which every series is steady; all series have the same length.

    ``slack`` is the change of each series that counts as steady: a series that stays within it to the end is steady
    from the point where it begins to.
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
    """Return the cut of MSER, or an earlier one where the series stays within ``slack`` from there on."""
    late = mser(values)
    x = np.asarray(values, np.float64)
    # The first value after which all others stay within the slack around the mean of the last third.
    outside = np.flatnonzero(np.abs(x - x[-max(1, len(x) // 3) :].mean()) > slack / 2)
    early = int(outside[-1]) + 1 if len(outside) else 0
    return min(late, early)
