"""Tests of the limit of error of a recording, which follows from the manufacturer's specification of the meter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arenite.host.energy.meters.trace import Trace
from arenite.host.energy.windows.find import find_windows
from arenite.host.energy.windows.meter_accuracy import calibration_limit_j, profile_of
from arenite.host.energy.windows.result import measure


def recording(meter: str, amperes: float = 10e-3, **meta: Any) -> Trace:
    """Return a recording of four windows with the current ``amperes``, and a tenth of it between them. ``meta`` has
    further metadata of the driver."""
    times = np.arange(4000) / 10_000
    high = (times % 0.1) > 0.05
    current = np.where(high, amperes, amperes / 10)
    return Trace(times, current, 3.0, 10_000, marks=high.astype(np.uint8), meta={"meter": meter, **meta})


@pytest.mark.parametrize(
    ("meter", "meta", "expected"),
    [
        ("ppk2", {}, "ppk2"),
        ("ina-logger", {"chip": "ina228"}, "ina228"),
        ("ina-logger", {"chip": ""}, "ina-logger"),
        ("ina226", {}, "ina226"),
        ("scpi", {"instrument": "Keysight Technologies,34465A,MY1,A.02"}, "keysight-34465a"),
        ("scpi", {"instrument": "KEITHLEY INSTRUMENTS,MODEL DMM6500,04,1.7"}, "keithley-dmm6500"),
        ("scpi", {"instrument": "ACME,MM1"}, None),
        ("otii", {"device": {"name": "Ace", "type": "Ace"}}, "otii-ace"),
        ("otii", {"device": {"name": "bench", "type": "Arc"}}, "otii-arc"),
        ("joulescope", {"device": "u/js220/000123"}, "js220"),
        ("csv", {}, None),
    ],
)
def test_the_profile_follows_from_the_metadata_of_the_driver(
    meter: str, meta: dict[str, Any], expected: str | None
) -> None:
    profile = profile_of(recording(meter, **meta))
    assert (profile.name if profile else None) == expected


def test_the_limit_includes_reading_and_range() -> None:
    """A Keysight multimeter measures 10 mA at 3 V for 2 s. The limit is 0.05 % of 60 mJ plus the energy of 2 uA, the
    offset of its 10 mA range."""
    trace = recording("scpi", instrument="Keysight,34465A")
    limit = calibration_limit_j(trace, 0.060, 2.0)
    assert limit == pytest.approx(0.0005 * 0.060 + 2e-6 * 3.0 * 2.0)


def test_a_given_gain_error_precedes_the_profile() -> None:
    trace = replace(recording("scpi", instrument="Keysight,34465A"), gain_error=0.02)
    assert calibration_limit_j(trace, 0.060, 2.0) == pytest.approx(0.02 * 0.060 + 2e-6 * 3.0 * 2.0)
    assert calibration_limit_j(replace(recording("csv"), gain_error=0.02), 0.060, 2.0) == pytest.approx(
        0.0012
    )
    assert calibration_limit_j(recording("csv"), 0.060, 2.0) is None


def test_the_result_contains_the_limit() -> None:
    trace = recording("ppk2")
    result = measure(trace, find_windows(trace))
    energy, seconds = result.energy_uj.mean() * 1e-6, result.duration_s.mean()
    # The error of a PPK2 is at most 10 % and 20 uA. A uniform distribution has a standard deviation of 1/√3 of that.
    expected = (0.1 * energy + 20e-6 * 3.0 * seconds) / np.sqrt(3) * 1e6
    assert result.calibration_uj == pytest.approx(expected)
    # For a sleeping board, the offset of the meter dominates.
    small = recording("ppk2", amperes=1e-6)
    ratio = calibration_limit_j(small, 3e-6, 1.0)
    assert ratio is not None and ratio / 3e-6 > 0.25
