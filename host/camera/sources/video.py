"""Read video files and network streams with OpenCV, which decodes them to BGR. OpenCV is in the package extra
``video``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources.base import EndOfSource, SourceCounters, SourceLost
from arenite.host.camera.sources.buffer_pool import BufferPool
from arenite.host.camera.sources.paced import FrameClock

#: The maximum time in milliseconds to connect to a stream, and to wait for a picture.
OPEN_MS, READ_MS = 10_000, 10_000


def opencv(source: str) -> Any:
    """Import OpenCV and return the module. Raises ``UsageError``, which names ``source``, if it is not installed."""
    try:
        import cv2
    except ImportError as error:
        raise UsageError(
            f"{source}: videos and network streams need OpenCV, which is not installed.",
            "Install the extra: pip install 'arenite[video]'.",
        ) from error
    return cv2


def _format(cv2: Any, capture: Any, fps: float | None = None) -> Format:
    width, height = (int(capture.get(p)) for p in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT))
    rate = fps or float(capture.get(cv2.CAP_PROP_FPS))
    return Format("bgr", width, height, (width * 3,), rate if 0 < rate <= 1000 else 0.0)


def _retrieve(capture: Any, memory: BufferPool, format: Format) -> tuple[np.ndarray, Format] | None:
    """Return the picture that ``capture`` grabbed last, in memory from the pool, and its format. It differs from
    ``format``, the last known format, if the size of the stream has changed. Return None if the picture cannot be
    decoded."""
    flat = memory.take(format.height * format.strides[0])
    target = flat.reshape(format.height, format.width, 3)
    good, picture = capture.retrieve(target)
    if not good:
        return None
    if picture is not target and picture.ctypes.data != flat.ctypes.data:
        # The size has changed, so OpenCV allocated other memory.
        high, wide = picture.shape[:2]
        flat = np.ascontiguousarray(picture).reshape(-1)
        format = Format("bgr", wide, high, (wide * 3,), format.fps)
    return flat, format


@contextmanager
def _network_options() -> Iterator[None]:
    """Set FFmpeg's options for network streams in the environment while OpenCV connects, because OpenCV reads them only
    there.

    The options turn buffering off and select TCP, because lost UDP packets smear the picture. Files must be opened
    without these options, because otherwise their first frame would be missing.
    """
    name = "OPENCV_FFMPEG_CAPTURE_OPTIONS"
    set_by_user = name in os.environ
    os.environ.setdefault(name, "rtsp_transport;tcp|fflags;nobuffer")
    try:
        yield
    finally:
        if not set_by_user:
            del os.environ[name]


class VideoFile:
    """A ``Source`` of a video file. If ``live`` is True, it plays at its own rate or at ``fps`` and skips late frames;
    otherwise every ``read`` returns the next frame."""

    def __init__(
        self, path: str, *, live: bool = False, loop: bool = False, fps: float | None = None, index: int = 0
    ) -> None:
        self.name, self.live = path, live
        self.counters = SourceCounters()
        self._loop, self._requested_fps, self._index = loop, fps, index
        self._memory = BufferPool()
        self._capture: Any = None
        self._cv2: Any = None
        self._format: Format | None = None
        self._pace = FrameClock(live)
        self._played = 0  # number of frames that were grabbed since the start of the file
        self._last = -1

    def open(self) -> Format:
        self._cv2 = opencv(self.name)
        self._rewind()
        self._format = _format(self._cv2, self._capture, self._requested_fps)
        self._pace.fps = self._pace.fps or self._format.fps or 30.0
        self._pace.restart()
        self._played = 0
        return self._format

    def _rewind(self) -> None:
        if self._capture is not None:
            self._capture.release()
        self._capture = self._cv2.VideoCapture(self.name, self._cv2.CAP_FFMPEG)
        if not self._capture.isOpened():
            raise UsageError(
                f"{self.name} is not a video that can be read.", "Give an MP4, MKV, WebM or AVI file."
            )

    def read(self, timeout_s: float) -> Frame | None:
        if self._format is None:
            raise UsageError(f"The video {self.name} is not open.", "Call open first.")
        due_picture = self._pace.wait(self._last, timeout_s)
        if due_picture is None:
            return None
        number, time_ns = due_picture
        for _ in range(self._last + 1, number + 1):
            self._grab()
        decoded = _retrieve(self._capture, self._memory, self._format)
        missed = number - self._last - 1
        self._last = number
        self.counters.count_frame(missed)
        if decoded is None:
            self.counters.count_damaged()
            return None
        memory, self._format = decoded
        return Frame(
            self._format,
            (memory.ctypes.data,),
            memory,
            number,
            time_ns,
            self._memory.release_function(memory),
            source=self._index,
            missed=missed,
        )

    def _grab(self) -> None:
        if not self._capture.grab():
            if not self._loop or not self._played:
                raise EndOfSource(self.name)
            self._rewind()
            self._played = 0
            if not self._capture.grab():
                raise EndOfSource(self.name)
        self._played += 1

    def set_rate(self, fps: float) -> float:
        """Set the rate of a live video. If the video is not live, the rate has no effect."""
        return self._pace.set_rate(fps, self._last)

    def close(self) -> None:
        if self._capture is not None:
            self._capture.release()
            self._capture = None
        self._format = None


class NetworkStream:
    """A ``PictureStream`` of rtsp://, http:// and other addresses that FFmpeg supports, or of a GStreamer pipeline if
    OpenCV was built with GStreamer."""

    def __init__(self, url: str, *, pipeline: bool = False, name: str | None = None) -> None:
        self.name = name or url
        self._url, self._pipeline = url, pipeline
        self._capture: Any = None
        self._format: Format | None = None

    def open(self) -> Format:
        cv2 = opencv(self.name)
        if self._pipeline:
            self._capture = cv2.VideoCapture(self._url, cv2.CAP_GSTREAMER)
        else:
            timeouts = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, OPEN_MS, cv2.CAP_PROP_READ_TIMEOUT_MSEC, READ_MS]
            with _network_options():
                self._capture = cv2.VideoCapture(self._url, cv2.CAP_FFMPEG, timeouts)
        if not self._capture.isOpened():
            raise SourceLost(
                f"{self.name} does not answer, or sends no video.", "Check its address and password."
            )
        self._format = _format(cv2, self._capture)
        if not self._format.width:
            # Some streams report their size only with the first picture.
            good, picture = self._capture.read()
            if not good:
                raise SourceLost(f"{self.name} sends no picture.", "Check its address and password.")
            high, wide = picture.shape[:2]
            self._format = Format("bgr", wide, high, (wide * 3,), self._format.fps)
        return self._format

    def next(self, memory: BufferPool) -> tuple[np.ndarray, Format] | None:
        capture, format = self._capture, self._format
        if capture is None or format is None or not capture.grab():
            return None
        decoded = _retrieve(capture, memory, format)
        if decoded is not None:
            self._format = decoded[1]
        return decoded

    def close(self) -> None:
        # The thread may still be in ``grab``. OpenCV closes the connection when the last reference to it is gone.
        self._capture = None
