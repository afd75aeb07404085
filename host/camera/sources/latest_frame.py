"""Deliver the newest picture of a stream. A thread reads all pictures, and only the newest picture is kept."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from arenite.errors import AreniteError, UsageError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources.base import SourceCounters, SourceLost
from arenite.host.camera.sources.buffer_pool import BufferPool, consecutive_planes
from arenite.host.camera.sources.frame_decimator import FrameDecimator

#: The time in seconds to wait for the thread to end. If it still waits for its connection then, ``close``
#: returns without it.
JOIN_S = 5.0


class PictureStream(Protocol):
    """A connection that delivers pictures. One thread calls all methods except ``close``. ``close`` ends a ``next``
    that waits in another thread."""

    name: str

    def open(self) -> Format: ...

    def next(self, memory: BufferPool) -> tuple[np.ndarray, Format] | None:
        """Return the next picture, uint8, shape (bytes,), from the pool ``memory``, and its format. Return None if the
        stream has ended. Raises ``SourceLost``."""
        ...

    def close(self) -> None: ...


@dataclass(slots=True)
class _Picture:
    """A picture that arrived. ``number`` counts pictures from 0, and ``time_ns`` is the time of the arrival."""

    memory: np.ndarray
    format: Format
    number: int
    time_ns: int


class LatestFrameSource:
    """A ``Source`` that delivers the newest picture of a ``PictureStream``. The end of the stream counts as the loss of
    a camera."""

    live = True

    def __init__(self, stream: PictureStream, *, index: int = 0) -> None:
        self.name = stream.name
        self.counters = SourceCounters()
        self._stream, self._index = stream, index
        self._memory = BufferPool()
        self._changed = threading.Condition()
        self._newest: _Picture | None = None
        self._problem: SourceLost | None = None
        self._thread: threading.Thread | None = None
        self._end = threading.Event()
        self._number = -1  # number of the last picture that arrived
        self._last = -1  # number of the last picture that ``read`` returned
        self._decimator = FrameDecimator()

    def open(self) -> Format:
        format = self._stream.open()
        self._newest, self._problem = None, None
        self._end = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(self._end,), name=f"source {self.name}", daemon=True
        )
        self._thread.start()
        return format

    def _run(self, end: threading.Event) -> None:
        problem: SourceLost | None = None
        try:
            while not end.is_set():
                picture_and_format = self._stream.next(self._memory)
                if picture_and_format is None:
                    problem = SourceLost(f"{self.name} ended.", "Check that it still sends.")
                    break
                with self._changed:
                    if end is not self._end:
                        self._memory.put_back(picture_and_format[0])
                        break
                    self._number += 1
                    if self._newest is not None:
                        self._memory.put_back(self._newest.memory)
                    self._newest = _Picture(*picture_and_format, self._number, time.monotonic_ns())
                    self._changed.notify()
        except AreniteError as error:
            problem = error if isinstance(error, SourceLost) else SourceLost(error.problem, error.hint)
        except Exception as error:  # decoders raise many kinds of errors for data from a network
            problem = SourceLost(f"{self.name} failed: {error}", "Check that it sends a video.")
        with self._changed:
            # If ``close`` did not wait for this thread, it must not change the state of the stream that is open now.
            if end is self._end:
                self._problem = problem or SourceLost(f"{self.name} was closed.")
                self._changed.notify()

    def read(self, timeout_s: float) -> Frame | None:
        if self._thread is None:
            raise UsageError(f"The source {self.name} is not open.", "Call open first.")
        end = time.monotonic() + timeout_s
        with self._changed:
            while True:
                picture, self._newest = self._newest, None
                if picture is not None:
                    if not self._decimator.drops_frame(picture.time_ns):
                        break
                    # This picture is skipped to reach the requested rate, so it counts neither as captured nor as
                    # dropped.
                    self._memory.put_back(picture.memory)
                    self._last = picture.number
                if self._problem is not None:
                    raise self._problem
                wait = end - time.monotonic()
                if wait <= 0:
                    return None
                self._changed.wait(wait)
        missed = picture.number - self._last - 1
        self._last = picture.number
        self.counters.count_frame(missed)
        return Frame(
            picture.format,
            consecutive_planes(picture.format, picture.memory.ctypes.data),
            picture.memory,
            picture.number,
            picture.time_ns,
            self._memory.release_function(picture.memory),
            source=self._index,
            missed=missed,
        )

    def set_rate(self, fps: float) -> float:
        """Skip frames to reach the rate. The rate of the stream itself does not change."""
        if not 0 < fps <= 1000:
            raise UsageError(f"{fps} frames per second is not a possible rate.", "Give 0.1 to 1000.")
        self._decimator.set(fps)
        return fps

    def close(self) -> None:
        self._end.set()
        self._stream.close()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(JOIN_S)
