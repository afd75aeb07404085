"""Tests of ``FrameDecimator``, which drops frames to reach a rate below the camera's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arenite.host.camera.sources.frame_decimator import FrameDecimator


@given(st.floats(10, 120), st.floats(0.05, 1.0), st.integers(0, 2**32))
def test_the_mean_rate_is_the_set_rate(native: float, share: float, seed: int) -> None:
    """The mean rate is the rate that was set, for any camera rate, although the frame times jitter by a tenth of the
    period."""
    jitter = np.random.default_rng(seed).uniform(-0.1, 0.1, 400)
    times = ((np.arange(400) + jitter + 1) * 1e9 / native).astype(int)
    decimator = FrameDecimator()
    decimator.set(native * share)
    kept_times = [int(t) for t in times if not decimator.drops_frame(int(t))]
    rate = (len(kept_times) - 1) * 1e9 / (kept_times[-1] - kept_times[0])
    assert abs(rate / (native * share) - 1) < 0.12
    # No two frames that are kept are closer than 0.3 periods of the set rate.
    assert np.diff(kept_times).min() * native * share / 1e9 > 0.3 - 1e-6


def test_without_a_set_rate_no_frame_is_dropped() -> None:
    decimator = FrameDecimator()
    assert not any(decimator.drops_frame(t) for t in (5, 6, 7))
    decimator.set(1.0)
    assert [decimator.drops_frame(t) for t in (5, 6, 7)] == [False, True, True]
    decimator.set(None)
    assert not decimator.drops_frame(8)


def test_after_a_gap_frames_keep_the_set_rate() -> None:
    decimator = FrameDecimator()
    decimator.set(10.0)
    assert not decimator.drops_frame(0)
    assert not decimator.drops_frame(5_000_000_000)
    assert decimator.drops_frame(5_010_000_000)
