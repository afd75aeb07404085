"""Tests that timeline traces show every frame, and are valid even after a run that was killed."""

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

#: A program that records frames until it is killed.
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


def test_each_stage_has_its_own_track(tmp_path: Path) -> None:
    served = frames(5)
    events = run_of(tmp_path / "t.json", served)
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    stages = [(tracks[e["tid"]], e["args"]["frame"], e["dur"]) for e in events if e["ph"] == "X"]
    assert stages == [
        (stage, s.number, pytest.approx((end - start) / 1e3, abs=0.001))
        for s in served
        for stage, (start, end) in s.spans.items()
    ]
    sort_index = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"}
    assert [tracks[t] for t in sorted(sort_index, key=sort_index.__getitem__)][:5] == ["governor", *STAGES]
    flow_ids = {e["id"] for e in events if e["ph"] == "f"}  # the end of the arrows of a frame
    assert flow_ids == {0, 1, 2, 3, 4}


def test_overlapping_frames_and_other_cameras_have_their_own_tracks(tmp_path: Path) -> None:
    begin = time.monotonic_ns()
    served = []
    for k in range(6):
        begin_ns = begin + k * MS
        spans = {name: (begin_ns + n * MS, begin_ns + n * MS + MS) for n, name in enumerate(STAGES)}
        served.append(ServedFrame(k, k % 2, k, begin_ns, spans, None))
    events = run_of(tmp_path / "t.json", served)
    names = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert "invoke" in names and "camera 1: invoke" in names


def test_dropped_late_and_cached_frames_are_marked(tmp_path: Path) -> None:
    served = frames(3)
    served[0].missed, served[1].late, served[2].by = 3, True, "cache"
    events = run_of(tmp_path / "t.json", [*served, ServedFrame(9, 0, 9, 0, {}, None, by="stand-in")])
    instants = [(e["name"], e["cat"]) for e in events if e["ph"] == "i"]
    assert instants == [
        ("dropped 3", "drop"),
        ("late", "late"),
        ("cache", "by"),
        ("stand-in", "by"),
        ("end", "run"),
    ]


def test_counters_and_each_action_of_the_governor_are_recorded(tmp_path: Path) -> None:
    first_state, second_state = state_at(90), state_at(130)
    events = run_of(tmp_path / "t.json", frames(1), {"ready": False}, first_state, second_state, second_state)
    actions = [e for e in events if e.get("cat") == "governor"]
    assert [e["name"] for e in actions] == ["fps: 29 → 28", "fps: 28 → 27", "fps: 27 → 26"]
    assert actions[0]["args"]["reason"] == first_state["governor"]["log"][0]["reason"]
    counters = [(e["name"], e["args"]) for e in events if e["ph"] == "C"]
    assert ("power", {"W": first_state["power"]["value"], "W limit": 5.0}) in counters
    assert ("temperature", {"°C": second_state["temperature"]["value"], "°C limit": 70.0}) in counters
    assert ("governor: fps", {"level": 3}) in counters
    assert ("frames", {"per second": second_state["fps"]}) in counters


def test_after_the_limit_only_late_frames_are_recorded(tmp_path: Path) -> None:
    served = frames(40)
    for k in (15, 25):
        served[k].late = True
    events = run_of(tmp_path / "t.json", served, state_at(1), limit_frames=10)
    frames_in_trace = sorted({e["args"]["frame"] for e in events if e["ph"] == "X"})
    assert frames_in_trace == [*range(10), 15, 25]
    assert sum(e.get("cat") == "limit" for e in events) == 1 and any(e["ph"] == "C" for e in events)


def test_at_most_twice_the_limit_is_recorded(tmp_path: Path) -> None:
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
    # The events of the last frame may be incomplete, but no event is cut.
    last_frame = text.rfind('{"ph":"X","name":"capture"')
    assert len(read(text[:last_frame], complete=False)) > 100
    assert text.endswith("\n")


def test_a_path_that_cannot_be_written_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot write"):
        Timeline(tmp_path / "none" / "t.json")
