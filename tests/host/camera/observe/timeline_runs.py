"""Simulated runs of the camera loop that record a timeline, for the tests of timelines."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.observe.timeline import Timeline
from tests.host.camera.dashboard.simulated_run import MS, face, served_of
from tests.host.camera.observe.trace_events import read


def run_of(
    path: Path, frames: list[ServedFrame], *states: dict[str, Any], **more: Any
) -> list[dict[str, Any]]:
    """Record frames and states in a timeline, close it twice, and return its events. ``more`` has additional arguments
    of ``Timeline``."""
    timeline = Timeline(path, **more)
    for served in frames:
        timeline.take(served, None)
    for state in states:
        timeline.update(state)
    timeline.close()
    timeline.close()
    return read(path.read_text())


def frames(count: int, **more: Any) -> list[ServedFrame]:
    """Return ``count`` served frames, one every 33 ms."""
    begin = time.monotonic_ns() + MS
    return [served_of(k, face(k), began_ns=begin + 33 * MS * k, **more) for k in range(count)]
