"""Traces that are valid, also when the run was killed, and that say what happened to each frame."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.camera.frames.served_frame import STAGES, ServedFrame
from arenite.host.camera.observe.timeline import Timeline
from tests.host.camera.dashboard.simulated_run import MS, state_at
from tests.host.camera.observe.timeline_runs import frames, run_of
from tests.host.camera.observe.trace_events import read

_KILLED = """
import itertools, sys, time
from arenite.host.camera.observe.timeline import Timeline
from tests.host.camera.dashboard.simulated_run import served_of, state_at
sink = Timeline(sys.argv[1])
begin = time.monotonic_ns()
for number in itertools.count():
    sink.take(served_of(number, began_ns=begin + number * 4_000_000))
    if number % 50 == 0:
        sink.update(state_at(number))
"""


def test_each_stage_of_each_frame_on_its_track(tmp_path: Path) -> None:
    served = frames(5)
    events = run_of(tmp_path / "t.json", served)
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    found = [(tracks[e["tid"]], e["args"]["frame"], e["dur"]) for e in events if e["ph"] == "X"]
    assert found == [
        (stage, s.number, pytest.approx((end - start) / 1e3, abs=0.001))
        for s in served
        for stage, (start, end) in s.spans.items()
    ]
    sort = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"}
    assert [tracks[t] for t in sorted(sort, key=sort.__getitem__)][:5] == ["governor", *STAGES]
    ids = {e["id"] for e in events if e["ph"] == "f"}
    assert ids == {0, 1, 2, 3, 4}


def test_overlapped_frames_and_several_cameras(tmp_path: Path) -> None:
    begin = time.monotonic_ns()
    made = []
    for k in range(6):
        at = begin + k * MS
        spans = {name: (at + n * MS, at + n * MS + MS) for n, name in enumerate(STAGES)}
        made.append(ServedFrame(k, k % 2, k, at, spans, None))
    events = run_of(tmp_path / "t.json", made)
    names = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert "invoke" in names and "camera 1: invoke" in names


def test_what_went_wrong_and_what_was_saved(tmp_path: Path) -> None:
    odd = frames(3)
    odd[0].missed, odd[1].late, odd[2].by = 3, True, "cache"
    events = run_of(tmp_path / "t.json", [*odd, ServedFrame(9, 0, 9, 0, {}, None, by="stand-in")])
    instants = [(e["name"], e["cat"]) for e in events if e["ph"] == "i"]
    assert instants == [
        ("dropped 3", "drop"),
        ("late", "late"),
        ("cache", "by"),
        ("stand-in", "by"),
        ("end", "run"),
    ]


def test_counters_and_the_governor(tmp_path: Path) -> None:
    first, second = state_at(90), state_at(130)
    events = run_of(tmp_path / "t.json", frames(1), {"ready": False}, first, second, second)
    actions = [e for e in events if e.get("cat") == "governor"]
    assert [e["name"] for e in actions] == ["fps: 29 → 28", "fps: 28 → 27", "fps: 27 → 26"]
    assert actions[0]["args"]["reason"] == first["governor"]["log"][0]["reason"]
    counters = [(e["name"], e["args"]) for e in events if e["ph"] == "C"]
    assert ("power", {"W": first["power"]["value"], "W limit": 5.0}) in counters
    assert ("temperature", {"°C": second["temperature"]["value"], "°C limit": 70.0}) in counters
    assert ("governor: fps", {"level": 3}) in counters
    assert ("frames", {"per second": second["fps"]}) in counters


def test_after_the_limit_only_what_went_wrong(tmp_path: Path) -> None:
    many = frames(40)
    for k in (15, 25):
        many[k].late = True
    events = run_of(tmp_path / "t.json", many, state_at(1), limit_frames=10)
    drawn = sorted({e["args"]["frame"] for e in events if e["ph"] == "X"})
    assert drawn == [*range(10), 15, 25]
    assert sum(e.get("cat") == "limit" for e in events) == 1 and any(e["ph"] == "C" for e in events)


def test_no_more_than_twice_the_limit(tmp_path: Path) -> None:
    events = run_of(tmp_path / "t.json", frames(40, late=True), limit_frames=10)
    assert len({e["args"]["frame"] for e in events if e["ph"] == "X"}) == 20


def test_a_run_without_frames_is_valid(tmp_path: Path) -> None:
    events = run_of(tmp_path / "t.json", [])
    assert [e["name"] for e in events if e["ph"] != "M"] == ["end"]


def test_a_killed_run_leaves_a_valid_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    child = subprocess.Popen([sys.executable, "-c", _KILLED, str(path)])
    end = time.monotonic() + 60
    while (not path.exists() or path.stat().st_size < 200_000) and time.monotonic() < end:
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    text = path.read_text()
    # The last frame's lines may be cut between two events, never within one.
    last = text.rfind('{"ph":"X","name":"capture"')
    assert len(read(text[:last], complete=False)) > 100
    assert text.endswith("\n")


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot write"):
        Timeline(tmp_path / "none" / "t.json")
