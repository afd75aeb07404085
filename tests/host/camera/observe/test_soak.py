"""Tests of the soak test, which finds the steady state of a device and compares it with the first minute."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import UsageError
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.observe.soak import Soak, clock_mhz
from arenite.host.camera.observe.soak_result import SoakResult
from arenite.host.camera.observe.statistics import Statistics

#: The capture time of the first frame, in nanoseconds.
START = 10**12


def soak_simulated_phone(
    root: Path, minutes: float, settle_s: float = 150.0, sensors: bool = True
) -> SoakResult:
    """Return the soak test's result for a simulated fanless device at 30 frames per second that warms up from 30 to 70
    °C with the time constant ``settle_s``. From 55 °C on, its clock falls from 2000 MHz to 1000 MHz, inference takes
    longer in proportion, and frames are missed."""
    clock = root / "sys/devices/system/cpu/cpu0/cpufreq"
    clock.mkdir(parents=True)
    statistics = Statistics()
    soak = Soak(statistics, minutes, root)
    t, number, next_update_s, joules = 0.0, 0, 0.5, 0.0
    while t < soak.seconds:
        celsius = 70 - 40 * math.exp(-t / settle_s)
        mhz = 2000 - 1000 * min(max((celsius - 55) / 10, 0.0), 1.0)
        invoke_s = 20e-3 * 2000 / mhz
        captured_ns = START + round(t * 1e9)
        begin_ns = captured_ns + 10**6  # after 1 ms of preprocessing
        spans = {
            "preprocess": (captured_ns, begin_ns),
            "invoke": (begin_ns, begin_ns + round(invoke_s * 1e9)),
        }
        statistics.add(ServedFrame(number, 0, number, captured_ns, spans, None))
        number += 1
        watts = 2.0 + 3.0 * mhz / 2000
        frame_s = max(1 / 30, invoke_s + 1e-3)
        t += frame_s
        joules += watts * frame_s
        if t >= next_update_s:
            (clock / "scaling_cur_freq").write_text(f"{mhz * 1000:.0f}\n")
            state: dict[str, Any] = {"t_s": t}
            if sensors:
                state["power"] = {"value": watts, "kind": "measured"}
                state["temperature"] = {"value": celsius}
                state["energy_j"] = joules
            soak.update(state)
            next_update_s += 0.5
    return soak.result()


@pytest.fixture(scope="module")
def throttled(tmp_path_factory: pytest.TempPathFactory) -> SoakResult:
    """The result of a soak test of 30 minutes in which the simulated phone throttles."""
    return soak_simulated_phone(tmp_path_factory.mktemp("phone"), 30)


@pytest.mark.slow
def test_a_throttling_device_settles_at_lower_rate_power_and_clock(throttled: SoakResult) -> None:
    result = throttled
    assert result.steady
    assert result.settled_s is not None
    assert 250 < result.settled_s < 900, "its temperature comes within 1 K after 550 s"
    content = result.to_json()
    minute_1, steady_state = content["minute_1"], content["steady_state"]
    assert minute_1["fps"] == pytest.approx(30.0, rel=0.01)
    # A frame takes 41 ms: 40 ms for the invoke at half the clock, and 1 ms for preprocessing.
    assert steady_state["fps"] == pytest.approx(1 / 0.041, rel=0.01)
    assert minute_1["stage_ms"]["invoke"]["p50"] == pytest.approx(20.0, rel=0.01)
    assert steady_state["stage_ms"]["invoke"]["p50"] == pytest.approx(40.0, rel=0.01)
    assert (minute_1["power_w"], steady_state["power_w"]) == (
        pytest.approx(5.0),
        pytest.approx(3.5, rel=0.01),
    )
    assert minute_1["energy_mj_per_frame"] == pytest.approx(5000 / 30, rel=0.002)
    assert steady_state["energy_mj_per_frame"] == pytest.approx(3500 * 0.041, rel=0.02)
    assert (minute_1["clock_mhz"], steady_state["clock_mhz"]) == (
        pytest.approx(2000),
        pytest.approx(1000, rel=0.01),
    )
    assert steady_state["temperature_c"] == pytest.approx(69.7, abs=0.6)
    assert minute_1["frames"] == pytest.approx(1800, abs=3)


@pytest.mark.slow
def test_the_table_shows_the_first_minute_the_steady_state_and_the_change(throttled: SoakResult) -> None:
    rows = {row[0]: row[1:] for row in throttled.rows()}
    assert rows[""] == ("minute 1", "steady state", "change")
    assert rows["frames per second"][2].startswith("-18")
    assert rows["invoke p50 ms"] == ("20.000", "40.000", "+100.0 %")
    assert rows["power W"][2] == "-30.0 %"
    assert rows["clock MHz"] == ("2,000", "1,000", "-50.0 %")
    assert "%" not in rows["temperature °C"][2]


@pytest.mark.slow
def test_a_run_that_is_too_short_is_reported(tmp_path: Path) -> None:
    result = soak_simulated_phone(tmp_path, 8, settle_s=600.0)
    assert not result.steady
    assert "temperature_c" in result.unsettled
    assert "Not steady after" in result.sentence()
    assert "last_third" in result.to_json()
    assert result.rows()[0][2] == "last third"


def test_without_sensors_rate_and_latency_decide(tmp_path: Path) -> None:
    result = soak_simulated_phone(tmp_path, 10, settle_s=40.0, sensors=False)
    assert result.steady
    steady_state = result.to_json()["steady_state"]
    assert (
        steady_state["power_w"]
        is steady_state["energy_mj_per_frame"]
        is steady_state["temperature_c"]
        is None
    )
    assert "power W" not in {row[0] for row in result.rows()}


def test_the_first_minute_is_never_the_steady_state(tmp_path: Path) -> None:
    result = soak_simulated_phone(tmp_path, 6, settle_s=1e9)  # it does not warm up
    assert result.settled_s == pytest.approx(60, abs=5)


def test_estimates_are_labelled(tmp_path: Path) -> None:
    statistics = Statistics()
    soak = Soak(statistics, 2, tmp_path)
    for step in range(1, 241):
        t = step / 2
        at = START + round(t * 1e9)
        statistics.add(ServedFrame(step, 0, step, at, {"invoke": (at, at + 10**7)}, None))
        soak.update({"t_s": t, "power": {"value": 4.0, "kind": "estimated"}, "energy_j": 4.0 * t})
    result = soak.result()
    assert result.to_json()["minute_1"]["power_kind"] == "estimated"
    assert "power W (estimated)" in {row[0] for row in result.rows()}
    assert result.to_json()["minute_1"]["energy_mj_per_frame"] == pytest.approx(2000.0, rel=0.02)


def test_a_long_soak_has_a_limited_number_of_parts(tmp_path: Path) -> None:
    soak = Soak(Statistics(), 24 * 60, tmp_path)
    for minute in range(24 * 60):
        soak.update({"t_s": minute * 60.0})
    assert len(soak._parts) <= 130  # a day has 120 parts of 12 minutes


def test_a_soak_test_without_frames_is_not_steady(tmp_path: Path) -> None:
    result = Soak(Statistics(), 5, tmp_path).result()
    assert not result.steady
    assert "too short" in result.sentence()
    assert result.rows()


def test_less_than_two_minutes_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no steady state"):
        Soak(Statistics(), 1.5, tmp_path)


def test_the_clock_is_the_mean_of_all_cores(tmp_path: Path) -> None:
    assert clock_mhz(tmp_path) is None
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("processor\t: 0\ncpu MHz\t\t: 2100.5\ncpu MHz\t\t: 1899.5\n")
    assert clock_mhz(tmp_path) == 2000.0
    for core, khz in ((0, 800_000), (1, 1_600_000)):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{core}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{khz}\n")
    assert clock_mhz(tmp_path) == 1200.0
