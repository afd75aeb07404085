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
            self.late.wait(30)
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
    frame = source.read(10)
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


class Broken(Stuck):
    """A stream whose decoder fails."""

    def next(self, memory: BufferPool) -> tuple[np.ndarray, Format] | None:
        raise ValueError("cannot reshape")


def test_any_decoder_error_is_a_lost_source() -> None:
    source = LatestFrameSource(Broken())
    source.open()
    with pytest.raises(SourceLost, match="cannot reshape"):
        source.read(10)
    source.close()
