"""The interface of a source of frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arenite.errors import DeviceError
from arenite.host.camera.frames.frame import Format, Frame


class SourceLost(DeviceError):
    """The camera was disconnected or its driver failed; reconnecting may help."""


class EndOfSource(Exception):
    """A recording has no more frames. This is not an error."""


@dataclass(slots=True)
class SourceCounters:
    """Counts since the source was first opened, over all reconnects."""

    captured: int = 0  # frames that the camera captured, by its sequence numbers
    dropped: int = 0  # captured frames that ``read`` never returned
    errors: int = 0  # frames that the driver marked as damaged, or that could not be decoded
    reconnects: int = 0

    def handed_out(self, missed: int) -> None:
        """Count a frame that is handed out, and the ``missed`` frames before it that were not."""
        self.captured += missed + 1
        self.dropped += missed

    def damaged(self) -> None:
        """Count the frame that was about to be handed out as damaged."""
        self.errors += 1
        self.dropped += 1


class Source(Protocol):
    """A source of frames. ``read`` returns the newest frame and counts the frames that it skips, so frames never wait
    in a queue."""

    @property
    def name(self) -> str: ...
    @property
    def live(self) -> bool:
        """True for a camera, or a recording that plays at its own rate; False if frames are delivered on request."""
        ...

    @property
    def counters(self) -> SourceCounters: ...

    def open(self) -> Format:
        """Start, and return the format. Raises ``SourceLost`` or ``UsageError``; may be called again after
        ``close``."""
        ...

    def read(self, timeout_s: float) -> Frame | None:
        """Return the newest frame. Wait for one at most ``timeout_s``, and return None if none came. If the driver
        changes the format, ``frame.format`` differs from the format that ``open`` returned.

        Raises ``EndOfSource``, ``SourceLost``.
        """
        ...

    def set_rate(self, fps: float) -> float:
        """Request another frame rate, and return the rate that is used. A source with a fixed rate skips frames."""
        ...

    def close(self) -> None: ...
