"""Compute the data rate of an instrument from the arrival times of its bytes."""

from __future__ import annotations

import numpy as np

from arenite.host.energy.meters.trace import Floats


def steady_rate(times: Floats, totals: Floats) -> float:
    """Return the data rate in bytes per second: the slope of the line that has all points below or on it and is nearest
    to them.

    The points are (time, total bytes). A busy computer reads bytes late and never early, so the line of the sent bytes
    is above all points. Among the lines above all points, the line with the smallest sum of distances is the edge of
    the upper convex hull at the mean time. A least-squares line would instead be changed by every delay.

    Args:
        times: ascending times in seconds, shape (n,) with n > 1.
        totals: ascending numbers of bytes that had arrived at each of ``times``, shape (n,).
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
