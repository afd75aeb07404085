"""Tests of reading the inputs of a duty cycle from result files of other commands and from CSV files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.host.duty.events import PeriodicEvents, PoissonEvents, RecordedEvents
from arenite.host.duty.files import latency_of_bench, latency_of_energy, power_of_energy, read_times
from arenite.host.duty.inputs import events_of, powers_of, queue_of, service_of
from arenite.profiles.boards import load_board
from tests.host.bench.sample_results import ENERGY_RESULT


def bench_json(path: Path, board: str, latency: object, instructions: object, cycles: object) -> Path:
    """Write the parts of a bench result that a duty cycle reads. Return the path."""
    result = {
        "schema": "arenite.bench/1",
        "board": {"name": board},
        "inference": {"latency_us": latency, "instructions": instructions, "cycles": cycles},
    }
    path.write_text(json.dumps(result), "utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time_s\n0.5\n1.5\n", [0.5, 1.5]),
        ("0.5\n1.5\n", [0.5, 1.5]),
        ("time (ms),what\n500,door\n1500,door\n", [0.5, 1.5]),
        ("t_us\n500000\n\n", [0.5]),
        ("\ufefftime_s\r\n0.5\r\n", [0.5]),
    ],
)
def test_times_are_read_in_their_unit(tmp_path: Path, text: str, expected: list[float]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, "utf-8")
    assert read_times(path, "events", "s") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time_s\n1\nx\n", "line 3: 'x'"),
        ("time_s\n", "contains no times"),
        ("", "contains no times"),
        ("1\nnan\n", "'nan'"),
    ],
)
def test_a_file_without_times_raises_an_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=message):
        read_times(path, "events", "s")


@pytest.mark.parametrize(
    ("times", "message"),
    [([100, 5, 1], "ascending"), ([0, 1, 1e308], "more than 1e"), ([5, 5], "needs its duration")],
)
def test_a_clock_that_jumps_raises_an_error(times: list[float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RecordedEvents.recorded(times)


def test_a_field_that_is_too_long_raises_an_error(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text('time_s\n"' + "1" * 200_000 + '"\n')
    with pytest.raises(UsageError, match="field larger than field limit"):
        read_times(path, "events", "s")


def test_a_missing_file_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot read the events"):
        read_times(tmp_path / "none.csv", "events", "s")


def test_a_real_boards_latency_is_measured(tmp_path: Path) -> None:
    spread = {"p50": 100.0, "p95": 120.0, "p99": 130.0, "min": 90.0, "max": 200.0}
    latency = latency_of_bench(bench_json(tmp_path / "b.json", "nucleo_l4r5zi", spread, None, None))
    assert latency.kind == "measured" and not latency.service.fixed
    times = np.sort(latency.service.times_s)
    assert times[0] >= 90e-6 and times[-1] <= 200e-6
    assert np.quantile(times, 0.5) == pytest.approx(100e-6, rel=0.01)
    assert np.quantile(times, 0.95) == pytest.approx(120e-6, rel=0.01)


def test_emulated_cycles_are_scaled_to_the_clock_of_a_real_board(tmp_path: Path) -> None:
    instructions = dict.fromkeys(("p50", "p95", "p99", "min", "max"), 1_000_000)
    path = bench_json(tmp_path / "b.json", "qemu_mps2_an386", None, instructions, {"p50": 1_200_000})
    # The emulated board has a clock of 25 MHz, the real one of 120 MHz.
    assert latency_of_bench(path).service.times_s == pytest.approx([1.2e6 / 25e6])
    latency = latency_of_bench(path, "nucleo_l4r5zi")
    assert latency.service.times_s == pytest.approx([0.010]) and latency.kind == "estimated"


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "arenite.fit/1"}', '{"schema": "arenite.bench/1"}'])
def test_other_files_are_no_bench_results(tmp_path: Path, text: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError):
        latency_of_bench(path)


@pytest.mark.parametrize(
    "latency", [7, {"min": "x"}, {"min": "x", "p50": 1, "p95": 1, "p99": 1, "max": 1}, [1]]
)
def test_a_bench_result_with_other_times_is_refused(tmp_path: Path, latency: object) -> None:
    with pytest.raises(UsageError, match="no time of an inference"):
        latency_of_bench(bench_json(tmp_path / "b.json", "nucleo_l4r5zi", latency, None, None))
    with pytest.raises(UsageError, match="no time of an inference"):
        latency_of_bench(bench_json(tmp_path / "b.json", "nucleo_l4r5zi", None, latency, {"p50": 1}))


def test_measured_powers_precede_profiles(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text(json.dumps(ENERGY_RESULT), "utf-8")
    board = load_board("nucleo_l4r5zi")
    measured = powers_of(None, None, path, board)
    assert (measured.active_w, measured.sleep_w, measured.peak_w) == pytest.approx((0.02, 6e-6, 0.05))
    assert "measured" in measured.sources["active"]
    timing = service_of(None, None, None, None, None, path)
    assert timing.service.times_s == pytest.approx([0.035]) and timing.kind == "measured"
    assert service_of(1.0, None, None, None, None, path).service.times_s == pytest.approx([0.001])
    from_options = powers_of(30.0, 12.0, path, board)
    assert (from_options.active_w, from_options.sleep_w, from_options.peak_w) == pytest.approx(
        (0.03, 12e-6, None)
    )
    profile = powers_of(None, None, None, board)
    assert profile.active_w == pytest.approx(13.2e-3 * 3.3) and profile.sleep_w == pytest.approx(2.8e-6 * 3.3)
    assert profile.sources["active"].startswith("estimated")
    with pytest.raises(UsageError, match="power of the sleeping device is not known"):
        powers_of(None, None, None, load_board("qemu_mps2_an386"))
    path.write_text(json.dumps(ENERGY_RESULT | {"average_power_w": None}), "utf-8")
    with pytest.raises(UsageError, match="has no power"):
        power_of_energy(path)
    path.write_text(json.dumps(ENERGY_RESULT | {"duration_ms": None}), "utf-8")
    with pytest.raises(UsageError, match="no time of an inference"):
        latency_of_energy(path)


def test_exactly_one_kind_of_events_and_one_service_time_are_required(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("0\n1\n3\n", "utf-8")
    assert events_of(2.0, None, None, None) == PeriodicEvents(2.0)
    assert events_of(None, 2.0, None, None) == PoissonEvents(2.0)
    assert events_of(None, None, path, 4.0) == RecordedEvents((0.0, 1.0, 3.0), 4.0)
    for wrong in ((None, None, None, None), (1.0, 1.0, None, None), (1.0, None, None, 5.0)):
        with pytest.raises(UsageError):
            events_of(*wrong)
    with pytest.raises(UsageError, match="exclude each other"):
        service_of(1.0, path, None, None, None)
    assert queue_of("none") is None and queue_of("3") == 3
    with pytest.raises(UsageError, match="not a number of places"):
        queue_of("-1")
