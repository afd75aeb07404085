from __future__ import annotations

import threading

import numpy as np
import pytest

from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.observe.statistics import Statistics, StatisticsWindow  # type: ignore[attr-defined]

MS = 1_000_000
START = 5_000 * 1000 * MS


def frame(number: int, at_ns: int, invoke_ns: int = 3 * MS, **more: object) -> ServedFrame:
    """Captured 1 ms before it is in hand; 1 ms of preprocessing, the invoke, half a millisecond behind it."""
    begun = at_ns + MS
    spans = {
        "preprocess": (begun, begun + MS),
        "invoke": (begun + MS, begun + MS + invoke_ns),
        "postprocess": (begun + MS + invoke_ns, begun + MS + invoke_ns + MS // 2),
    }
    return ServedFrame(number, 0, number, at_ns, spans, None, model="vww", **more)  # type: ignore[arg-type]


def run(times_ns: list[int], invokes: list[int] | None = None, **settings: float) -> Statistics:
    made = Statistics(**settings)  # type: ignore[arg-type]
    for number, at in enumerate(times_ns):
        made.add(frame(number, START + at, invokes[number] if invokes else 3 * MS))
    return made


def test_percentiles_of_stages_are_those_of_the_frames() -> None:
    invokes = [int(v) for v in np.random.default_rng(1).integers(2 * MS, 9 * MS, 1000)]
    made = run([i * 20 * MS for i in range(1000)], invokes).summary()["stage_ms"]
    ordered = sorted(invokes)
    assert made["invoke"]["p50"] == pytest.approx(ordered[499] / MS, abs=1e-4)
    assert made["invoke"]["p95"] == pytest.approx(ordered[949] / MS, abs=1e-4)
    assert made["invoke"]["p99"] == pytest.approx(ordered[989] / MS, abs=1e-4)
    assert made["total"]["p50"] == pytest.approx(ordered[499] / MS + 1.5, abs=1e-4)
    assert made["age"]["p50"] == pytest.approx(ordered[499] / MS + 2.5, abs=1e-4)
    assert list(made) == ["preprocess", "invoke", "postprocess", "total", "age"]


def test_beyond_the_exact_count_percentiles_stay_within_one_percent() -> None:
    invokes = [int(v) for v in np.random.default_rng(2).lognormal(15, 0.7, 6000)]
    made = run([i * 20 * MS for i in range(6000)], invokes, exact=500).window("all")
    assert not made.stages["invoke"].exact
    for percent in (50, 95, 99):
        rank = int(np.ceil(percent / 100 * 6000)) - 1
        assert made.percentile_ms("invoke", percent) == pytest.approx(sorted(invokes)[rank] / MS, rel=0.01)


def test_rate_and_jitter() -> None:
    steady = run([i * 40 * MS for i in range(100)]).window("all")
    assert steady.fps == pytest.approx(25.0)
    assert steady.jitter_ms == 0.0
    assert steady.seconds == pytest.approx(99 * 0.04)
    uneven = run([i * 40 * MS + (i % 2) * 10 * MS for i in range(101)]).window("all")
    assert uneven.fps == pytest.approx(25.0)
    assert uneven.jitter_ms == pytest.approx(10.0)
    assert run([0]).window("all").fps == 0.0


def test_how_frames_were_answered() -> None:
    made = Statistics()
    for number in range(10):
        by = "motion" if number % 3 else "model"
        made.add(frame(number, START + number * MS, by=by, late=number == 4, missed=number % 2))
    seen = made.window("all")
    assert seen.by == {"model": 4, "motion": 6}
    assert (seen.served, seen.late, seen.missed, seen.models) == (10, 1, 5, {"vww": 10})


def test_frames_without_any_stage_are_counted_only() -> None:
    made = Statistics()
    made.add(ServedFrame(0, 0, 0, START, {}, None, by="stand-in"))
    assert made.summary()["served"] == 1
    assert made.summary()["stage_ms"] == {}
    assert made.window("all").percentile_ms("invoke", 50) is None


def test_minute_one_and_the_last_minute() -> None:
    """Three minutes at 10 frames per second; from the second minute on an invoke takes twice as long."""
    invokes = [3 * MS if i < 600 else 6 * MS for i in range(1800)]
    made = run([i * 100 * MS for i in range(1800)], invokes)
    first, last = made.window("minute_1"), made.window("last_minute")
    assert first.served == 600
    assert first.stages["invoke"].largest == 3 * MS
    assert 550 <= last.served <= 600
    assert last.stages["invoke"].smallest == 6 * MS
    assert made.window("all").served == 1800


def test_a_pause_empties_the_last_minute() -> None:
    made = run([i * 100 * MS for i in range(100)] + [1000_000 * MS + i * 100 * MS for i in range(20)])
    assert made.window("last_minute").served == 20
    assert made.window("minute_1").served == 100


def test_a_short_pause_empties_its_slices_only() -> None:
    made = run([i * 100 * MS for i in range(600)] + [90_000 * MS])
    # Slices of five seconds that reach back to 35 s: frames from 35 to 60 s, and the last one.
    assert made.window("last_minute").served == 251


def test_named_windows() -> None:
    made = Statistics()
    assert made.restart("governor") is None
    finished = None
    for number in range(30):
        made.add(frame(number, START + number * 10 * MS, (number + 1) * MS))
        if number == 9:
            finished = made.restart("governor")
    assert finished is not None
    assert (finished.served, finished.stages["invoke"].largest) == (10, 10 * MS)
    now = made.window("governor")
    assert (now.served, now.stages["invoke"].smallest) == (20, 11 * MS)
    with pytest.raises(KeyError):
        made.window("nothing")


def test_windows_merge() -> None:
    made = run([i * 10 * MS for i in range(50)])
    both = StatisticsWindow(100)
    both.merge(made.window("all"))
    both.merge(made.window("all"))
    assert both.served == 100
    assert both.stages["invoke"].count == 100
    assert both.to_json()["by"] == {"model": 100}


def test_stages_of_more_than_one_kind_of_frame() -> None:
    """A cache hit has no invoke; a cascade has one more."""
    made = Statistics()
    made.add(frame(0, START))
    hit = frame(1, START + 10 * MS, by="cache")
    del hit.spans["invoke"]
    made.add(hit)
    second = frame(2, START + 20 * MS)
    end = second.spans["postprocess"][1]
    second.spans["invoke:face"] = (end, end + 7 * MS)
    made.add(second)
    seen = made.window("all")
    assert seen.stages["invoke"].count == 2
    assert seen.stages["total"].count == 3
    assert seen.percentile_ms("invoke:face", 50) == 7.0
    assert list(seen.stage_ms())[-3:] == ["invoke:face", "total", "age"]


def test_asked_from_another_thread_no_frame_is_lost() -> None:
    made, done = Statistics(), threading.Event()

    def ask() -> None:
        while not done.is_set():
            made.summary()

    asking = threading.Thread(target=ask)
    asking.start()
    for number in range(5000):
        made.add(frame(number, START + number * 10 * MS))
    done.set()
    asking.join()
    seen = made.window("all")
    assert (seen.served, seen.stages["invoke"].count, seen.stages["interval"].count) == (5000, 5000, 4999)
