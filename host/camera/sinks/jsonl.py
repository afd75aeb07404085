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
    """Writes one line per frame. The loop's thread formats the line (about 20 µs), and another thread writes it to the
    file about once a second."""

    def __init__(
        self, path: str | Path, *, lossless: bool = False, report: Callable[[str], None] = to_stderr
    ) -> None:
        """``path`` is a file, or ``-`` for standard output. If ``lossless`` is True, which is meant for
        recordings, the loop waits for a slow reader; otherwise lines are dropped. Raises ``UsageError``."""
        self._writer = LineWriter(path, lossless=lossless, report=report)

    @property
    def failure(self) -> str | None:
        """The reason why lines can no longer be written, such as a reader that closed the pipe; None if they can be
        written."""
        return self._writer.failure

    @property
    def lost(self) -> int:
        """The number of dropped lines."""
        return self._writer.lost

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        self._writer.write(_ENCODE(served.to_json()) + "\n")

    def close(self) -> None:
        self._writer.close()
