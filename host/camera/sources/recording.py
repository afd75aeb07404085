"""Play an uncompressed recording. The file is mapped into memory, so that no pixels are copied."""

from __future__ import annotations

import mmap

import numpy as np

from arenite.converters.processing.specification.pixel_formats import planes_of
from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources.base import EndOfSource, SourceCounters
from arenite.host.camera.sources.paced import FrameClock
from arenite.host.camera.sources.raw_video import RawVideo, read_raw_video


class Recording:
    """A ``Source`` of an uncompressed recording. If ``live`` is True, it plays at its own rate or at ``fps`` and skips
    late frames; otherwise every ``read`` returns the next frame."""

    def __init__(
        self, path: str, *, live: bool = False, loop: bool = False, fps: float | None = None, index: int = 0
    ) -> None:
        self.name, self.live = path, live
        self.counters = SourceCounters()
        self._loop, self._requested_fps, self._index = loop, fps, index
        self._pace = FrameClock(live)
        self._last = -1
        self._format: Format | None = None
        self._frame_planes: list[tuple[int, ...]] = []  # addresses of the planes of each frame
        self._owner: object = None

    def open(self) -> Format:
        video, owner = map_raw_video(self.name)
        if video is None:
            raise UsageError(
                f"{self.name} is not an uncompressed AVI or YUV4MPEG2 file.", "Open it as a video."
            )
        planes = planes_of(video.pixels, video.width, video.height)
        self._format = Format(
            video.pixels,
            video.width,
            video.height,
            tuple(row for row, _ in planes),
            self._requested_fps or video.fps,
        )
        base = np.frombuffer(owner, np.uint8).ctypes.data
        plane_offsets = [sum(row * rows for row, rows in planes[:k]) for k in range(len(planes))]
        self._frame_planes = [
            tuple(base + offset + plane for plane in plane_offsets) for offset in video.offsets
        ]
        self._owner = owner
        self._pace.fps = self._pace.fps or self._format.fps or 30.0
        self._pace.restart()
        return self._format

    def read(self, timeout_s: float) -> Frame | None:
        if self._format is None:
            raise UsageError(f"The recording {self.name} is not open.", "Call open first.")
        due_picture = self._pace.wait(self._last, timeout_s)
        if due_picture is None:
            return None
        number, time_ns = due_picture
        if number >= len(self._frame_planes) and not self._loop:
            raise EndOfSource(self.name)
        missed = number - self._last - 1
        self._last = number
        self.counters.count_frame(missed)
        planes = self._frame_planes[number % len(self._frame_planes)]
        return Frame(self._format, planes, self._owner, number, time_ns, source=self._index, missed=missed)

    def set_rate(self, fps: float) -> float:
        """Set the rate of a live recording. If the recording is not live, the rate has no effect."""
        return self._pace.set_rate(fps, self._last)

    def close(self) -> None:
        """Close the recording. Frames that are still held keep the memory of their pixels."""
        self._format, self._owner = None, None
        self._frame_planes = []


def map_raw_video(path: str) -> tuple[RawVideo | None, mmap.mmap]:
    """Map the file into memory. Return its format and frames (None if it must be decoded), and the mapped file. Raises
    ``UsageError``."""
    try:
        with open(path, "rb") as file:
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"Cannot read {path}: {error}.", "Check the path; the file must not be empty."
        ) from error
    return read_raw_video(pages, path), pages
