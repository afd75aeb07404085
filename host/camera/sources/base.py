"""What a source of pictures is to the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arenite.errors import DeviceError
from arenite.host.camera.frames.frame import Format, Frame


class SourceLost(DeviceError):
    """The camera went away or its driver failed; reconnecting may help."""


class EndOfSource(Exception):
    """A recording has no more frames. Not an error."""


@dataclass(slots=True)
class SourceCounters:
    """Since the source was opened; over all reconnects."""

    captured: int = 0  # frames that the camera made, as far as its sequence numbers tell
    dropped: int = 0  # of these, frames that were never handed out
    errors: int = 0  # frames that the driver marked as damaged, or that could not be decoded
    reconnects: int = 0

    def handed_out(self, missed: int) -> None:
        """A frame, and that so many before it were not."""
        self.captured += missed + 1
        self.dropped += missed

    def damaged(self) -> None:
        """The frame that was about to be handed out."""
        self.errors += 1
        self.dropped += 1


class Source(Protocol):
    """Latest frame wins: ``read`` hands out the newest frame and counts what it passes over; nothing ever queues."""

    @property
    def name(self) -> str: ...
    @property
    def live(self) -> bool:
        """A camera, or a recording played at its own pace; else each frame comes as soon as it is asked for."""
        ...

    @property
    def counters(self) -> SourceCounters: ...

    def open(self) -> Format:
        """Start. Raises ``SourceLost`` or ``UsageError``; may be called again after ``close``."""
        ...

    def read(self, timeout_s: float) -> Frame | None:
        """The newest frame, waiting for one at most ``timeout_s``; None when none came. The format may differ from
        that of ``open`` after a change by the driver: ``frame.format`` counts.

        Raises ``EndOfSource``, ``SourceLost``.
        """
        ...

    def set_rate(self, fps: float) -> float:
        """Ask for another frame rate; returns the one that holds now. A source that cannot change it skips frames."""
        ...

    def close(self) -> None: ...
