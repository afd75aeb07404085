"""Tests of sources that play pictures at the rate of a camera. A late reader misses pictures, and the source counts the
missed pictures."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.paced import FrameClock, PacedSource


class Numbers:
    """Pictures of 2x2 pixels. All pixels of a picture have its number as value."""

    name = "numbers"

    def __init__(self, fps: float) -> None:
        self.fps = fps
        self.memory = np.zeros(4, np.uint8)

    def open(self) -> Format:
        return Format("grey", 2, 2, (2,), self.fps)

    def picture(self, number: int) -> tuple[tuple[int, ...], object]:
        self.memory[:] = number % 256
        return (self.memory.ctypes.data,), self.memory

    def close(self) -> None: ...


def test_without_pacing_every_picture_is_read() -> None:
    source = PacedSource(Numbers(1.0), live=False, index=3)
    source.open()
    frames = [source.read(0) for _ in range(50)]
    assert [frame.sequence for frame in frames if frame] == list(range(50))
    assert all(frame and frame.source == 3 and frame.missed == 0 for frame in frames)
    assert (source.counters.captured, source.counters.dropped) == (50, 0)


def test_a_late_reader_misses_pictures() -> None:
    source = PacedSource(Numbers(200.0))
    source.open()
    first = source.read(1)
    time.sleep(0.1)  # 20 pictures
    second = source.read(1)
    assert first is not None and second is not None
    assert second.missed == second.sequence - first.sequence - 1 >= 15
    assert source.counters.captured == second.sequence + 1
    assert source.counters.dropped == second.missed
    assert second.time_ns <= time.monotonic_ns()
    assert (second.time_ns - first.time_ns) == pytest.approx(second.sequence * 1e9 / 200, abs=2)
    assert int(second.rows()[0, 0]) == second.sequence % 256


def test_no_picture_arrives_early() -> None:
    source = PacedSource(Numbers(0.001))
    source.open()
    assert source.read(1) is not None  # the first picture is due at once
    assert source.read(0.01) is None
    assert source.counters.captured == 1


def test_a_new_rate_applies_to_later_pictures() -> None:
    source = PacedSource(Numbers(1000.0))
    source.open()
    first = source.read(1)
    assert source.set_rate(500.0) == 500.0
    frames = [frame for frame in (source.read(1) for _ in range(20)) if frame]
    assert first is not None and frames[0].sequence > first.sequence
    gaps = {(b.time_ns - a.time_ns) / (b.sequence - a.sequence) for a, b in itertools.pairwise(frames)}
    assert all(gap == pytest.approx(2e6, abs=2) for gap in gaps)
    for wrong in (0, -1, 1001, float("nan")):
        with pytest.raises(UsageError):
            source.set_rate(wrong)


def test_reading_a_closed_source_raises_an_error() -> None:
    source = PacedSource(Numbers(30))
    with pytest.raises(UsageError, match="not open"):
        source.read(0)
    source.open()
    source.close()
    with pytest.raises(UsageError, match="not open"):
        source.read(0)


def test_numbers_continue_after_reopening() -> None:
    source = PacedSource(Numbers(1000.0))
    source.open()
    first = source.read(1)
    source.close()
    source.open()
    second = source.read(1)
    assert first is not None and second is not None and second.sequence == first.sequence + 1


def test_a_frame_clock_without_pacing_counts_at_once() -> None:
    pace = FrameClock(False)
    assert [pace.wait(last, 0)[0] for last in (-1, 0, 7)] == [0, 1, 8]  # type: ignore[index]
