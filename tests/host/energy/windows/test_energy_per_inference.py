"""The energy per inference is right for each streaming meter and each method of finding the windows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.host.energy.meters.lpm01a import Lpm01a
from arenite.host.energy.meters.ppk2 import Ppk2
from arenite.host.energy.windows.find import GPIO, SERIAL, WAVEFORM, find_windows
from arenite.host.energy.windows.result import measure
from tests.host.energy.meters import waveform
from tests.host.energy.meters.sim_lpm01a import SimLpm01a
from tests.host.energy.meters.sim_ppk2 import SimPpk2

pytestmark = pytest.mark.slow

SLOW = settings(max_examples=6)


def _length(truth):
    """Return the median length of an inference in seconds."""
    return float(np.median([b - a for a, b in truth.windows]))


def _events(truth, rng):
    """Return start and end of the inferences by the host's clock, which started 0.7 s after the meter. The serial line
    delays each of them by up to 1 ms."""
    return [(a - 0.7 + rng.uniform(0, 1e-3), b - 0.7 + rng.uniform(0, 1e-3)) for a, b in truth.windows]


@SLOW
@given(seed=st.integers(0, 100_000), ppm=st.sampled_from([-100.0, 100.0]))
def test_the_energy_from_a_ppk2_is_right_with_every_method(seed, ppm):
    truth = waveform.make(seed, inferences=5, volts=3.3)
    with SimPpk2(truth, seed, ppm=ppm, burst=2) as sim, Ppk2(sim.port, supply_v=3.3) as meter:
        meter.start()
        assert sim.sent_all.wait(60)
        trace = meter.stop()
    assert trace.lost_samples == sim.dropped
    no_marks = replace(trace, marks=None)
    for windows, method in (
        (find_windows(trace), GPIO),
        (find_windows(no_marks, events=_events(truth, np.random.default_rng(seed))), SERIAL),
        (find_windows(no_marks, expected=5, duration_s=_length(truth)), WAVEFORM),
    ):
        assert windows.method == method
        result = measure(trace, windows)
        assert len(result.energy_uj) == 5
        assert result.median_uj == pytest.approx(truth.per_inference_uj(), rel=0.01)
        assert result.sleep_current_a == pytest.approx(truth.sleep_a, rel=0.05)


@SLOW
@given(seed=st.integers(0, 100_000), rate=st.sampled_from([10_000, 50_000]))
def test_the_energy_from_an_lpm01a_is_right_with_every_method(seed, rate):
    # The meter does not report where samples were lost. So the energy of each window varies by √(lost)/samples, which
    # is 1 % at 10 kHz.
    truth = waveform.make(seed, inferences=24, volts=1.8)
    with SimLpm01a(truth, seed) as sim, Lpm01a(sim.port, supply_v=1.8, rate_hz=rate) as meter:
        meter.start()
        assert sim.sent_all.wait(60)
        trace = meter.stop()
    for windows, method in (
        (find_windows(trace, events=_events(truth, np.random.default_rng(seed))), SERIAL),
        (find_windows(trace, expected=24, duration_s=_length(truth)), WAVEFORM),
    ):
        assert windows.method == method
        result = measure(trace, windows)
        assert len(result.energy_uj) == 24
        assert result.median_uj == pytest.approx(truth.per_inference_uj(), rel=0.01)
        assert any("not where" in note for note in trace.notes)
