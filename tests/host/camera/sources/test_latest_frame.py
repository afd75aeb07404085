"""Streams whose threads do not end when they are told to."""

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
    """A connection of which the first waits for a picture long after it was closed."""

    name = "stuck"

    def __init__(self) -> None:
        self.opened = 0
        self.first, self.late = threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None  # the first one

    def open(self) -> Format:
        self.opened += 1
        return FORMAT

    def next(self, memory: BufferPool) -> tuple[np.ndarray, Format] | None:
        if self.opened == 1:
            self.first.set()
            self.late.wait(30)
        else:
            time.sleep(0.005)
        made = memory.take(4)
        made[:] = 7 if threading.current_thread() is not self.thread else 99
        return made, FORMAT

    def close(self) -> None:
        """The thread goes on waiting."""


def wait_for(source: LatestFrameSource) -> Frame:
    frame = source.read(10)
    assert frame is not None
    return frame


def test_a_thread_that_outlives_its_close_says_nothing_of_the_next_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(latest_frame, "JOIN_S", 0.05)
    stream = Stuck()
    source = LatestFrameSource(stream)
    source.open()
    old = source._thread
    assert old is not None and stream.first.wait(60)
    stream.thread = old
    source.close()
    source.open()
    wait_for(source).release()
    stream.late.set()
    old.join(60)
    assert not old.is_alive()
    for _ in range(5):
        frame = wait_for(source)
        assert frame.rows()[0, 0] == 7
        frame.release()
    source.close()


class Broken(Stuck):
    def next(self, memory: BufferPool) -> tuple[np.ndarray, Format] | None:
        raise ValueError("cannot reshape")


def test_whatever_a_decoder_raises_is_a_loss() -> None:
    source = LatestFrameSource(Broken())
    source.open()
    with pytest.raises(SourceLost, match="cannot reshape"):
        source.read(10)
    source.close()
