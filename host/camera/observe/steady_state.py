"""Find the time from which a run is steady, by MSER, the marginal standard error rule.

The rule removes (cuts) values from the beginning of a series so that the mean of the remaining values is as exact as
possible: it minimizes the sum of squared deviations from the mean, divided by the squared number of remaining values. A
series that still drifts is cut late, so a cut in the second half means that the run never became steady. As in MSER-5,
the rule works on means of batches of values, so that one outlier at the end does not decide. (K. P. White Jr., "An
effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

#: At least this number of batches must remain after the cut.
MIN_VALUES = 6
#: A long series is averaged into about this number of batches.
BATCHES = 24
#: A cut in the second half is chosen only if its error is below this share of the error of the best cut in the first
#: half.
_MAX_LATE_ERROR_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The result of the search. ``begin`` is the index of the first steady value; None if there is no steady
    state. ``unsettled`` names the series that still change."""

    begin: int | None
    unsettled: tuple[str, ...] = ()


def mser(values: Sequence[float]) -> int:
    """Return the number of values to remove from the beginning. More than half of the values means that the series has
    not settled."""
    batch = max(1, len(values) // BATCHES)
    count = len(values) // batch
    if count <= MIN_VALUES:
        return 0
    # The first values are left out so that the remaining values fill the batches.
    skipped = len(values) - count * batch
    x = np.asarray(values, np.float64)[skipped:].reshape(count, batch).mean(axis=1)
    x = x - np.median(x)  # prevents cancellation in the sums of squares
    remaining = np.arange(count, 0, -1)
    sums, squares = (np.cumsum(terms[::-1])[::-1] for terms in (x, x * x))
    spread = np.maximum(squares - sums * sums / remaining, 0.0)
    error = (spread / (remaining * remaining.astype(np.float64)))[: count - MIN_VALUES + 1]
    half = error[: count // 2 + 1]
    chosen = error if error.min() < _MAX_LATE_ERROR_SHARE * half.min() else half
    # The first of several smallest errors, also if they differ by rounding.
    cut = int(np.argmax(chosen <= chosen.min() * (1 + 1e-9) + 1e-18))
    return cut * batch + skipped if cut else 0


def find_steady_state(series: Mapping[str, Sequence[float]], slack: Mapping[str, float]) -> SteadyState:
    """Find the first index from which every series is steady. All series have the same length.

    ``slack`` has for each series the width of a range around the mean of its last third. If the series enters this
    range and stays inside it until the end, it is steady from that point, even if the rule cuts later.
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
    """Return the index of the first steady value: the cut of MSER, or an earlier index from which the series stays
    inside the range of width ``slack``."""
    late = mser(values)
    x = np.asarray(values, np.float64)
    # ``early`` is the first index from which all values are inside the range around the mean of the last third.
    outside = np.flatnonzero(np.abs(x - x[-max(1, len(x) // 3) :].mean()) > slack / 2)
    early = int(outside[-1]) + 1 if len(outside) else 0
    return min(late, early)
