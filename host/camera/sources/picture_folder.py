"""Deliver the pictures of a folder, or of files that match a pattern, one after another."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources.base import EndOfSource, SourceCounters
from arenite.host.camera.sources.file_suffixes import PICTURE_SUFFIXES
from arenite.host.camera.sources.paced import FrameClock
from arenite.host.camera.sources.picture_decoder import decode_picture
from arenite.input_files import read_bytes


def pictures_of(spec: str) -> list[Path]:
    """Return the picture files of a folder, the files that match a pattern, or a single file, sorted by name."""
    path = Path(spec)
    if path.is_dir():
        files = [p for p in path.iterdir() if p.suffix.lower() in PICTURE_SUFFIXES and p.is_file()]
    elif path.is_file():
        files = [path]
    else:
        files = [Path(p) for p in glob.glob(spec, recursive=True) if os.path.isfile(p)]
    return sorted(files)


#: The size in bytes of the largest picture file that is read.
MAX_PICTURE_BYTES = 256 << 20


class PictureFolder:
    """A ``Source`` of picture files. Pictures may have different sizes. If ``live`` is True, it plays ``fps`` pictures
    per second and skips late pictures; otherwise every ``read`` returns the next picture. A file that is not a picture
    is counted as an error and skipped."""

    def __init__(
        self,
        spec: str,
        *,
        live: bool = False,
        loop: bool = False,
        fps: float | None = None,
        pixels: str = "rgb",
        index: int = 0,
    ) -> None:
        if pixels not in ("rgb", "bgr"):
            raise UsageError(f"Pictures cannot be read as {pixels}.", "Use rgb or bgr.")
        self.name, self.live = spec, live
        self.counters = SourceCounters()
        self._loop, self._pixels, self._index = loop, pixels, index
        self._files: list[Path] = []
        self._last = -1
        self._pace = FrameClock(live, fps or 30.0)

    def open(self) -> Format:
        self._files = pictures_of(self.name)
        if not self._files:
            raise UsageError(
                f"There are no pictures in {self.name}.",
                f"Give a folder with {', '.join(PICTURE_SUFFIXES)} files.",
            )
        self._pace.restart()
        problem = None
        for number in range(len(self._files)):
            try:
                return self._read_frame(number, 0, 0).format
            except UsageError as error:
                problem = problem or error
        assert problem is not None
        raise problem

    def read(self, timeout_s: float) -> Frame | None:
        """Return the next picture; None if its file is damaged, or if no picture is due within ``timeout_s``."""
        if not self._files:
            raise UsageError(f"The folder {self.name} is not open.", "Call open first.")
        due_picture = self._pace.wait(self._last, timeout_s)
        if due_picture is None:
            return None
        number, time_ns = due_picture
        if number >= len(self._files) and not self._loop:
            raise EndOfSource(self.name)
        missed = number - self._last - 1
        self._last = number
        self.counters.count_frame(missed)
        try:
            return self._read_frame(number, time_ns, missed)
        except UsageError:
            self.counters.count_damaged()
            return None

    def _read_frame(self, number: int, time_ns: int, missed: int) -> Frame:
        path = self._files[number % len(self._files)]
        try:
            picture = decode_picture(read_bytes(path, MAX_PICTURE_BYTES), self._pixels, str(path))
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.", "Check its permissions.") from error
        high, wide = picture.shape[:2]
        format = Format(self._pixels, wide, high, (wide * 3,), self._pace.fps if self.live else 0.0)
        return Frame(
            format, (picture.ctypes.data,), picture, number, time_ns, source=self._index, missed=missed
        )

    def set_rate(self, fps: float) -> float:
        return self._pace.set_rate(fps, self._last)

    def close(self) -> None:
        self._files = []
