"""The data rate of an instrument, from the arrival times of its bytes."""

from __future__ import annotations

import numpy as np

from arenite.host.energy.meters.trace import Floats


def steady_rate(times: Floats, totals: Floats) -> float:
    """Slope of the line that is on no point's lower side and nearest to all: units of ``totals`` per second.

    A busy computer only ever reads bytes late, so the line of the sent bytes is above all points. Of these
    lines, the one with the smallest sum of distances is the edge of the upper convex hull over the mean time.
    A least-squares line would follow every stall instead.

    Args:
        times: (n,) seconds, rising, n > 1.
        totals: (n,) bytes that had arrived by then, rising.
    """
    hull: list[tuple[float, float]] = []
    for time, total in zip(times.tolist(), totals.tolist(), strict=True):
        while len(hull) > 1:
            (before, first), (last, second) = hull[-2:]
            if (second - first) * (time - before) > (total - first) * (last - before):
                break
            hull.pop()
        if not hull or time > hull[-1][0]:
            hull.append((time, total))
        else:
            hull[-1] = (time, total)
    middle = float(np.mean(times))
    edge = min(max(int(np.searchsorted([time for time, _ in hull], middle)), 1), len(hull) - 1)
    (before, first), (last, second) = hull[edge - 1 : edge + 1]
    return (second - first) / (last - before)
