"""Tests of the Joulescope driver without a device: blocks of samples, gaps, and errors if the package or the device is
missing."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from arenite.errors import AreniteError, DeviceError, UsageError
from arenite.host.energy.meters.joulescope import JoulescopeMeter, _Collector
from arenite.host.energy.meters.trace import join


class _Ring:
    """A ring buffer of samples with the two functions of the package's stream buffer that the driver calls."""

    def __init__(self, size: int) -> None:
        self.values = np.empty(0)
        self.size = size

    @property
    def sample_id_range(self):
        return max(0, len(self.values) - self.size), len(self.values)

    def samples_get(self, start, stop, fields):
        part = self.values[start:stop]
        columns = {"current": part, "voltage": np.full(len(part), 2.0)}
        return {"signals": {name: {"value": columns[name]} for name in fields}}


def test_blocks_are_joined_to_one_recording_with_gaps():
    ring, collector = _Ring(50), _Collector(100.0)
    for size in (30, 0, 20, 90):
        ring.values = np.append(ring.values, np.full(size, 1e-3))
        if size == 20:
            ring.values[35] = np.nan
        assert collector.stream_notify(ring) is False
    trace = join(collector.parts)
    # There were 140 samples. One sample was missing, and the ring buffer kept only 50 of the last 90 samples.
    assert (len(trace), trace.lost_samples) == (99, 41)
    assert trace.time_s[-1] == pytest.approx(1.39)
    assert trace.energy_j() == pytest.approx(1.39 * 2e-3)


def test_a_missing_package_or_device_raises_an_error():
    is_installed = importlib.util.find_spec("joulescope") is not None
    expected, words = (
        (DeviceError, "Joulescope cannot be used") if is_installed else (UsageError, r"arenite\[joulescope\]")
    )
    with pytest.raises(expected, match=words) as caught:
        JoulescopeMeter().open()
    assert isinstance(caught.value, AreniteError)
    with pytest.raises(UsageError, match="not open"):
        JoulescopeMeter().start()
