"""``--output``: one line of JSON per frame."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.sinks.writer import LineWriter, to_stderr

_ENCODE = json.JSONEncoder(separators=(",", ":"), default=str).encode


class JsonLinesSink:
    """A line per frame, on disk within a second. The line is made in the loop's thread (some 20 µs, spread evenly);
    the writing is left to another."""

    def __init__(
        self, path: str | Path, *, lossless: bool = False, report: Callable[[str], None] = to_stderr
    ) -> None:
        """``path``: ``-`` for standard output. ``lossless``: of a recording, wait for a slow reader instead of leaving
        lines out. Raises ``UsageError``."""
        self._writer = LineWriter(path, lossless=lossless, report=report)

    @property
    def failure(self) -> str | None:
        """Why nothing is written any more, for example a reader that went away."""
        return self._writer.failure

    @property
    def lost(self) -> int:
        return self._writer.lost

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        self._writer.write(_ENCODE(served.to_json()) + "\n")

    def close(self) -> None:
        self._writer.close()
