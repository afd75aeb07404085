"""The interface of a source of frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arenite.errors import DeviceError
from arenite.host.camera.frames.frame import Format, Frame


class SourceLost(DeviceError):
    """The camera was disconnected or its driver failed. Opening it again may help."""


class EndOfSource(Exception):
    """A recording has no more frames. This is not an error."""


@dataclass(slots=True)
class SourceCounters:
    """Counts since the source was first opened. They continue when it is opened again."""

    captured: int = 0  # frames that the camera captured, according to its sequence numbers
    dropped: int = 0  # captured frames that ``read`` never returned
    errors: int = 0  # frames that the driver marked as damaged, or that could not be decoded
    reconnects: int = 0

    def count_frame(self, missed: int) -> None:
        """Count a frame that ``read`` returns, and the ``missed`` frames before it that were dropped."""
        self.captured += missed + 1
        self.dropped += missed

    def count_damaged(self) -> None:
        """Count the frame that ``count_frame`` counted last as damaged, because ``read`` cannot return it."""
        self.errors += 1
        self.dropped += 1


class FrameReader(Protocol):
    """Reads the frames of a source."""

    def read(self, timeout_s: float) -> Frame | None:
        """Return the newest frame, as ``Source.read`` does."""
        ...


class Source(Protocol):
    """A source of frames. ``read`` returns the newest frame, and counts older frames as dropped, so that frames never
    wait in a queue."""

    @property
    def name(self) -> str: ...
    @property
    def live(self) -> bool:
        """True for a camera and for a recording that plays at its own rate; False if every ``read`` returns the next
        frame of a recording."""
        ...

    @property
    def counters(self) -> SourceCounters: ...

    def open(self) -> Format:
        """Start the source, and return the format of its frames. Raises ``SourceLost`` or ``UsageError``. May be called
        again after ``close``."""
        ...

    def read(self, timeout_s: float) -> Frame | None:
        """Return the newest frame. Wait at most ``timeout_s`` seconds for a frame, and return None if there is none. If
        the driver changes the format, ``frame.format`` differs from the format that ``open`` returned.

        Raises ``EndOfSource`` and ``SourceLost``.
        """
        ...

    def set_rate(self, fps: float) -> float:
        """Request another frame rate per second, and return the rate that is used. A source with a fixed rate skips
        frames instead."""
        ...

    def close(self) -> None: ...
