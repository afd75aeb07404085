"""Play generated or stored pictures like a camera: at a fixed rate, so that a reader that is late misses pictures."""

from __future__ import annotations

import time
from typing import Protocol

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources.base import SourceCounters


class FrameGenerator(Protocol):
    """Generates pictures, each of which depends only on its number."""

    name: str

    def open(self) -> Format: ...

    def picture(self, number: int) -> tuple[tuple[int, ...], object]:
        """Return the addresses of the planes of picture ``number``, and the object that keeps their memory alive. A
        later call may change the content of the memory."""
        ...

    def close(self) -> None: ...


class FrameClock:
    """Decides which picture is due. If ``live`` is True, picture n is due n / fps seconds after the first call of
    ``wait``. Otherwise the next picture is always due."""

    def __init__(self, live: bool, fps: float = 0.0) -> None:
        self.live, self.fps = live, fps
        self._first = 0  # the number of the picture that was due at ``_start``
        self._start: int | None = None

    def restart(self) -> None:
        """Let the clock begin again with the next call of ``wait``."""
        self._start = None

    def set_rate(self, fps: float, last: int) -> float:
        """Set and return the rate, beginning with the picture after number ``last``. Raises ``UsageError`` for an
        impossible rate."""
        if not 0 < fps <= 1000:
            raise UsageError(f"{fps} frames per second is not a possible rate.", "Give 0.1 to 1000.")
        if fps != self.fps:
            start = self._start and self._due(last + 1)
            self.fps, self._first, self._start = fps, last + 1, start
        return fps

    def wait(self, last: int, timeout_s: float) -> tuple[int, int] | None:
        """Return the number of the newest picture after number ``last``, and the time in ns at which it was due. Wait
        at most ``timeout_s`` seconds for it, and return None if no picture was due."""
        number, now = last + 1, time.monotonic_ns()
        if not self.live:
            return number, now
        if self._start is None:
            self._first, self._start = number, now
        number = max(number, self._first + int((now - self._start) * self.fps / 1e9))
        due = self._due(number)
        if due > now:
            if timeout_s > 0:  # sleeping for 0 s would take the time that a wake-up takes
                time.sleep(min((due - now) / 1e9, timeout_s))
            if due - now > timeout_s * 1e9:
                return None
        return number, due

    def _due(self, number: int) -> int:
        """Return the time in ns at which a picture is due."""
        assert self._start is not None
        return self._start + int((number - self._first) * 1e9 / self.fps)


class PacedSource:
    """A ``Source`` of a ``FrameGenerator``. If ``live`` is True, it delivers only the newest picture, else every
    picture."""

    def __init__(self, generator: FrameGenerator, *, live: bool = True, index: int = 0) -> None:
        self.name = generator.name
        self.live = live
        self.counters = SourceCounters()
        self._generator = generator
        self._index = index
        self._format: Format | None = None
        self._pace = FrameClock(live)
        self._last = -1  # the number of the last delivered picture

    def open(self) -> Format:
        self._format = self._generator.open()
        self._pace.fps = self._pace.fps or self._format.fps or 30.0
        self._pace.restart()
        return self._format

    def set_rate(self, fps: float) -> float:
        return self._pace.set_rate(fps, self._last)

    def read(self, timeout_s: float) -> Frame | None:
        if self._format is None:
            raise UsageError(f"The source {self.name} is not open.", "Call open first.")
        due_picture = self._pace.wait(self._last, timeout_s)
        if due_picture is None:
            return None
        number, time_ns = due_picture
        planes, owner = self._generator.picture(number)
        missed = number - self._last - 1
        self.counters.count_frame(missed)
        self._last = number
        return Frame(self._format, planes, owner, number, time_ns, source=self._index, missed=missed)

    def close(self) -> None:
        self._format = None
        self._generator.close()
