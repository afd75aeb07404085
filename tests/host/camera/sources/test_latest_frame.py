"""Tests of streams whose reader threads do not end in time when the stream is closed."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources import latest_frame
from arenite.host.camera.sources.base import SourceLost
from arenite.host.camera.sources.buffer_pool import BufferPool
from arenite.host.camera.sources.latest_frame import LatestFrameSource

FORMAT = Format("grey", 2, 2, (2,), 30.0)


class Stuck:
    """A stream whose first reader thread waits for a picture long after the stream was closed."""

    name = "stuck"

    def __init__(self) -> None:
        self.opened = 0
        self.first, self.late = threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None  # the first reader thread

    def open(self) -> Format:
        self.opened += 1
        return FORMAT

    def next(self, memory: BufferPool) -> tuple[np.ndarray, Format] | None:
        if self.opened == 1:
            self.first.set()
            self.late.wait(60)
        else:
            time.sleep(0.005)
        buffer = memory.take(4)
        # Pictures of the first thread have the value 99.
        buffer[:] = 7 if threading.current_thread() is not self.thread else 99
        return buffer, FORMAT

    def close(self) -> None:
        """Do nothing: the thread continues to wait."""


def wait_for(source: LatestFrameSource) -> Frame:
    """Return the next frame."""
    frame = source.read(60)
    assert frame is not None
    return frame


def test_a_late_thread_does_not_disturb_the_next_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(latest_frame, "JOIN_S", 0.05)
    stream = Stuck()
    source = LatestFrameSource(stream)
    source.open()
    first_thread = source._thread
    assert first_thread is not None and stream.first.wait(60)
    stream.thread = first_thread
    source.close()
    source.open()
    wait_for(source).release()
    stream.late.set()
    first_thread.join(60)
    assert not first_thread.is_alive()
    for _ in range(5):
        frame = wait_for(source)
        assert frame.rows()[0, 0] == 7
        frame.release()
    source.close()


class Stepwise:
    """A stream whose next picture comes 10 ms after ``source`` has taken the earlier one, so that none is missed."""

    name = "stepwise"

    def __init__(self) -> None:
        self.source: LatestFrameSource | None = None
        self.closed = threading.Event()

    def open(self) -> Format:
        return FORMAT

    def next(self, memory: BufferPool) -> tuple[np.ndarray, Format] | None:
        while not self.closed.wait(0.01):
            if self.source is not None and self.source._newest is None:
                return memory.take(4), FORMAT
        return None

    def close(self) -> None:
        self.closed.set()


def test_frames_left_out_for_a_lower_rate_are_not_counted() -> None:
    stream = Stepwise()
    source = stream.source = LatestFrameSource(stream)
    source.open()
    assert source.set_rate(10) == 10
    frames = []
    for _ in range(5):
        frames.append(wait_for(source))
        frames[-1].release()
    source.close()
    assert (source.counters.captured, source.counters.dropped) == (5, 0)
    assert frames[-1].sequence > 4, "no frame was left out"
    times_s = [(frame.time_ns - frames[0].time_ns) / 1e9 for frame in frames]
    # A frame may be a fifth of a pause early, and it may follow a late frame sooner, but not within a third of a pause.
    assert all(time_s >= 0.1 * number - 0.02 for number, time_s in enumerate(times_s)), times_s
    assert np.diff(times_s).min() >= 0.1 / 3 - 1e-6, times_s


class Broken(Stuck):
    """A stream whose decoder fails."""

    def next(self, memory: BufferPool) -> tuple[np.ndarray, Format] | None:
        raise ValueError("cannot reshape")


def test_any_decoder_error_is_a_lost_source() -> None:
    source = LatestFrameSource(Broken())
    source.open()
    with pytest.raises(SourceLost, match="cannot reshape"):
        source.read(60)
    source.close()
