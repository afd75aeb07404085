"""Frames left out of a camera's own rate."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arenite.host.camera.sources.frame_decimator import FrameDecimator


@given(st.floats(10, 120), st.floats(0.05, 1.0), st.integers(0, 2**32))
def test_the_mean_rate_is_the_one_asked_for(native: float, part: float, seed: int) -> None:
    """Whatever the camera's rate, and though its frames jitter by a tenth of their distance."""
    jitter = np.random.default_rng(seed).uniform(-0.1, 0.1, 400)
    times = ((np.arange(400) + jitter + 1) * 1e9 / native).astype(int)
    thin = FrameDecimator()
    thin.set(native * part)
    kept = [int(t) for t in times if not thin.drops_frame(int(t))]
    rate = (len(kept) - 1) * 1e9 / (kept[-1] - kept[0])
    assert abs(rate / (native * part) - 1) < 0.12
    assert np.diff(kept).min() * native * part / 1e9 > 0.3 - 1e-6


def test_nothing_is_left_out_where_nothing_was_asked_for() -> None:
    thin = FrameDecimator()
    assert not any(thin.drops_frame(t) for t in (5, 6, 7))
    thin.set(1.0)
    assert [thin.drops_frame(t) for t in (5, 6, 7)] == [False, True, True]
    thin.set(None)
    assert not thin.drops_frame(8)


def test_after_a_gap_frames_do_not_come_in_a_rush() -> None:
    thin = FrameDecimator()
    thin.set(10.0)
    assert not thin.drops_frame(0)
    assert not thin.drops_frame(5_000_000_000)
    assert thin.drops_frame(5_010_000_000)
