"""Tests of ``Statistics``, the rates and times of the frames that a camera loop served."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.observe.statistics import Statistics, StatisticsWindow  # type: ignore[attr-defined]

#: Nanoseconds in a millisecond.
MS = 1_000_000
#: The start of each run, in nanoseconds.
START = 5_000 * 1000 * MS


def frame(number: int, at_ns: int, invoke_ns: int = 3 * MS, **more: object) -> ServedFrame:
    """Return a served frame that was captured at ``at_ns``, waits 1 ms, and then takes 1 ms for preprocessing,
    ``invoke_ns`` for the invoke and 0.5 ms for postprocessing."""
    begin_ns = at_ns + MS
    spans = {
        "preprocess": (begin_ns, begin_ns + MS),
        "invoke": (begin_ns + MS, begin_ns + MS + invoke_ns),
        "postprocess": (begin_ns + MS + invoke_ns, begin_ns + MS + invoke_ns + MS // 2),
    }
    return ServedFrame(number, 0, number, at_ns, spans, None, model="vww", **more)  # type: ignore[arg-type]


def run(times_ns: list[int], invokes: list[int] | None = None, **settings: float) -> Statistics:
    """Return the statistics of frames that were captured ``times_ns`` after the start. ``invokes`` has the time of each
    invoke in nanoseconds, by default 3 ms."""
    statistics = Statistics(**settings)  # type: ignore[arg-type]
    for number, time_ns in enumerate(times_ns):
        statistics.add(frame(number, START + time_ns, invokes[number] if invokes else 3 * MS))
    return statistics


def test_percentiles_of_stages_are_those_of_the_frames() -> None:
    invokes = [int(v) for v in np.random.default_rng(1).integers(2 * MS, 9 * MS, 1000)]
    stage_ms = run([i * 20 * MS for i in range(1000)], invokes).summary()["stage_ms"]
    ordered = sorted(invokes)
    assert stage_ms["invoke"]["p50"] == pytest.approx(ordered[499] / MS, abs=1e-4)
    assert stage_ms["invoke"]["p95"] == pytest.approx(ordered[949] / MS, abs=1e-4)
    assert stage_ms["invoke"]["p99"] == pytest.approx(ordered[989] / MS, abs=1e-4)
    assert stage_ms["total"]["p50"] == pytest.approx(ordered[499] / MS + 1.5, abs=1e-4)
    assert stage_ms["age"]["p50"] == pytest.approx(ordered[499] / MS + 2.5, abs=1e-4)
    assert list(stage_ms) == ["preprocess", "invoke", "postprocess", "total", "age"]


def test_beyond_the_exact_count_percentiles_stay_within_one_percent() -> None:
    invokes = [int(v) for v in np.random.default_rng(2).lognormal(15, 0.7, 6000)]
    window = run([i * 20 * MS for i in range(6000)], invokes, exact=500).window("all")
    assert not window.stages["invoke"].exact
    for percent in (50, 95, 99):
        rank = int(np.ceil(percent / 100 * 6000)) - 1
        assert window.percentile_ms("invoke", percent) == pytest.approx(sorted(invokes)[rank] / MS, rel=0.01)


def test_rate_and_jitter_follow_from_the_capture_times() -> None:
    steady = run([i * 40 * MS for i in range(100)]).window("all")
    assert steady.fps == pytest.approx(25.0)
    assert steady.jitter_ms == 0.0
    assert steady.seconds == pytest.approx(99 * 0.04)
    uneven = run([i * 40 * MS + (i % 2) * 10 * MS for i in range(101)]).window("all")
    assert uneven.fps == pytest.approx(25.0)
    assert uneven.jitter_ms == pytest.approx(10.0)
    assert run([0]).window("all").fps == 0.0


def test_frames_are_counted_by_their_kind_of_answer() -> None:
    statistics = Statistics()
    for number in range(10):
        by = "motion" if number % 3 else "model"
        statistics.add(frame(number, START + number * MS, by=by, late=number == 4, missed=number % 2))
    window = statistics.window("all")
    assert window.by == {"model": 4, "motion": 6}
    assert (window.served, window.late, window.missed, window.models) == (10, 1, 5, {"vww": 10})


def test_frames_without_any_stage_are_counted_only() -> None:
    """If a camera is late, its last answer is repeated as a stand-in, and no stage runs."""
    statistics = Statistics()
    statistics.add(ServedFrame(0, 0, 0, START, {}, None, by="stand-in"))
    assert statistics.summary()["served"] == 1
    assert statistics.summary()["stage_ms"] == {}
    assert statistics.window("all").percentile_ms("invoke", 50) is None


def test_the_first_and_the_last_minute_have_their_own_statistics() -> None:
    """The run takes three minutes at 10 frames per second. After the first minute an invoke takes twice as long."""
    invokes = [3 * MS if i < 600 else 6 * MS for i in range(1800)]
    statistics = run([i * 100 * MS for i in range(1800)], invokes)
    first_minute, last_minute = statistics.window("minute_1"), statistics.window("last_minute")
    assert first_minute.served == 600
    assert first_minute.stages["invoke"].largest == 3 * MS
    assert 550 <= last_minute.served <= 600  # it covers 55 to 60 s
    assert last_minute.stages["invoke"].smallest == 6 * MS
    assert statistics.window("all").served == 1800


def test_a_pause_empties_the_last_minute() -> None:
    statistics = run([i * 100 * MS for i in range(100)] + [1000_000 * MS + i * 100 * MS for i in range(20)])
    assert statistics.window("last_minute").served == 20
    assert statistics.window("minute_1").served == 100


def test_a_short_pause_empties_its_slices_only() -> None:
    statistics = run([i * 100 * MS for i in range(600)] + [90_000 * MS])
    # The statistics are kept in slices of five seconds, which reach back to 35 s here. They hold the 250 frames
    # from 35 to 60 s and the last frame.
    assert statistics.window("last_minute").served == 251


def test_a_restarted_window_begins_again_and_returns_the_previous_one() -> None:
    statistics = Statistics()
    assert statistics.restart("governor") is None
    finished = None
    for number in range(30):
        statistics.add(frame(number, START + number * 10 * MS, (number + 1) * MS))
        if number == 9:
            finished = statistics.restart("governor")
    assert finished is not None
    assert (finished.served, finished.stages["invoke"].largest) == (10, 10 * MS)
    current = statistics.window("governor")
    assert (current.served, current.stages["invoke"].smallest) == (20, 11 * MS)
    with pytest.raises(KeyError):
        statistics.window("nothing")


def test_merged_windows_have_the_frames_of_both() -> None:
    statistics = run([i * 10 * MS for i in range(50)])
    merged = StatisticsWindow(100)
    merged.merge(statistics.window("all"))
    merged.merge(statistics.window("all"))
    assert merged.served == 100
    assert merged.stages["invoke"].count == 100
    assert merged.to_json()["by"] == {"model": 100}


def test_frames_may_have_different_stages() -> None:
    """A cache hit has no invoke stage; a cascade has two."""
    statistics = Statistics()
    statistics.add(frame(0, START))
    hit = frame(1, START + 10 * MS, by="cache")
    del hit.spans["invoke"]
    statistics.add(hit)
    cascade = frame(2, START + 20 * MS)
    end = cascade.spans["postprocess"][1]
    cascade.spans["invoke:face"] = (end, end + 7 * MS)
    statistics.add(cascade)
    window = statistics.window("all")
    assert window.stages["invoke"].count == 2
    assert window.stages["total"].count == 3
    assert window.percentile_ms("invoke:face", 50) == 7.0
    assert list(window.stage_ms())[-3:] == ["invoke:face", "total", "age"]


def test_reading_in_another_thread_loses_no_frame() -> None:
    statistics, stop = Statistics(), threading.Event()

    def read_summaries() -> None:
        while not stop.is_set():
            statistics.summary()

    reader = threading.Thread(target=read_summaries)
    reader.start()
    for number in range(5000):
        statistics.add(frame(number, START + number * 10 * MS))
    stop.set()
    reader.join()
    window = statistics.window("all")
    assert (window.served, window.stages["invoke"].count, window.stages["interval"].count) == (
        5000,
        5000,
        4999,
    )
