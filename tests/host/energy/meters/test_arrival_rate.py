"""``steady_rate`` returns the rate of an instrument even if a busy computer receives the samples late."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.host.energy.meters.arrival_rate import steady_rate


@pytest.mark.parametrize("seed", range(20))
def test_stalls_do_not_change_the_rate(seed):
    rng = np.random.default_rng(seed)
    sent = np.cumsum(rng.uniform(0.005, 0.02, 800))
    totals = sent * 80_000.0
    late = sent + rng.exponential(0.002, len(sent))
    # No data is received for 0.6 s at a random time, and data at the end is late.
    stall = rng.uniform(1, 7)
    late = np.where((late > stall) & (late < stall + 0.6), stall + 0.6, late)
    late[-60:] = late[-60:] + np.linspace(0, 0.8, 60)
    late = np.maximum.accumulate(late)
    assert steady_rate(late, totals) == pytest.approx(80_000, rel=0.002)


def test_the_rate_of_two_points_is_the_slope_between_them():
    assert steady_rate(np.array([1.0, 3.0]), np.array([10.0, 50.0])) == 20
