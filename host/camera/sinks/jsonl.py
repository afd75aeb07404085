"""Write one line of JSON per frame, for the option ``--output``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.sinks.writer import LineWriter, to_stderr

_ENCODE = json.JSONEncoder(separators=(",", ":"), default=str).encode


class JsonLinesSink:
    """Writes a line per frame, which is on disk within a second. The loop's thread formats the line (about 20 µs), and
    another thread writes it."""

    def __init__(
        self, path: str | Path, *, lossless: bool = False, report: Callable[[str], None] = to_stderr
    ) -> None:
        """``path`` is a file, or ``-`` for standard output. With ``lossless``, for recordings, the loop waits for a
        slow reader instead of dropping lines. Raises ``UsageError``."""
        self._writer = LineWriter(path, lossless=lossless, report=report)

    @property
    def failure(self) -> str | None:
        """The reason why no lines are written any more, such as a reader that closed the pipe; None if there is no
        failure."""
        return self._writer.failure

    @property
    def lost(self) -> int:
        return self._writer.lost

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        self._writer.write(_ENCODE(served.to_json()) + "\n")

    def close(self) -> None:
        self._writer.close()
