"""Prepare the newest picture of each camera, with its answer, for the browsers that show it.

The loop's thread only passes a frame on, at most ten times a second and only while a browser shows the camera. A thread
of the dashboard scales the frame with the compiled preprocessing, directly from the camera's buffer. ``Dashboard.take``
and ``Dashboard.update`` (server.py) call ``give_back``, which returns that buffer to the camera, so that this thread
never calls a source.
"""

from __future__ import annotations

import json
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, cast

import numpy as np

from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame

#: The maximum width of a picture in pixels.
MAX_WIDTH = 480
#: The minimum time between two pictures of a camera.
_MIN_INTERVAL_NS = 100_000_000
#: A page that was just opened does not get a picture that is older than this time.
_STALE_NS = 1_000_000_000
#: The maximum width and height of a mask that is sent, in pixels.
_MAX_MASK_SIDE = 256
MAGIC = b"ARF1"


class Preview:
    """The newest picture of each camera. The loop calls ``offer`` and ``give_back``; the HTTP handlers call
    ``request`` and ``newer``.

    ``report`` is called with lines of text for people, and ``on_change`` when ``newer`` may return something else.
    """

    def __init__(self, report: Callable[[str], None], on_change: Callable[[], None] = lambda: None) -> None:
        #: The cameras that a browser shows. While this is empty, the loop does no work for the preview.
        self.watched: set[int] = set()
        self._report = report
        self._on_change = on_change
        self._at_ns: dict[int, int] = {}
        self._work: SimpleQueue[tuple[ServedFrame, Frame] | None] = SimpleQueue()
        self._used: deque[Frame] = deque()
        self._changed = threading.Condition()
        self._newest: dict[int, tuple[int, bytes]] = {}
        self._count = 0
        self._ended = False
        self._thread: threading.Thread | None = None
        self._scalers: dict[int, PreviewScaler] = {}
        self._reported = False

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="arenite-preview", daemon=True)
        self._thread.start()

    def offer(self, served: ServedFrame, frame: Frame) -> None:
        """Pass a frame to the preview's thread if a new picture is due. This takes a few microseconds."""
        camera = served.source
        if camera not in self.watched:
            return
        now = time.monotonic_ns()
        if now - self._at_ns.get(camera, 0) >= _MIN_INTERVAL_NS:
            self._at_ns[camera] = now
            self.watched.discard(camera)  # ``request`` adds it again when a browser asks for the next picture
            self._work.put((served, frame.retain()))

    def give_back(self) -> None:
        """Release the frames that the preview's thread has scaled."""
        while self._used:
            try:
                self._used.popleft().release()
            except (
                IndexError
            ):  # the loop's thread (``take``) or the supervisor's thread (``update``) was faster
                return

    def request(self, after: int, camera: int = 0) -> int:
        """Ask for a new picture of ``camera``, for a client that has the picture with the number ``after``. Return the
        number that must be given to ``newer`` as ``last``: the new picture has another number."""
        self.watched.add(camera)
        with self._changed:
            # If no page has shown this camera for some time, the stored picture is old, and the client must wait for
            # the next one.
            stale = time.monotonic_ns() - self._at_ns.get(camera, 0) > _STALE_NS
            return self._newest[camera][0] if stale and camera in self._newest else after

    def newer(self, last: int, camera: int = 0) -> tuple[int, bytes] | None:
        """Return the number and the message (see ``pack``) of the newest picture of ``camera``, or None if its number
        is ``last``. After ``end``, return ``last`` with an empty message instead of None."""
        newest = self._newest.get(camera, (last, b""))
        if newest[0] != last:
            return newest
        return (last, b"") if self._ended else None

    def wait(self, after: int, seconds: float, camera: int = 0) -> tuple[int, bytes]:
        """Return the number and the message (see ``pack``) of the newest picture of ``camera``. Wait at most
        ``seconds`` for a picture whose number is not ``after``; if there is none, the message is empty."""
        last = self.request(after, camera)
        with self._changed:
            self._changed.wait_for(lambda: self.newer(last, camera) is not None, seconds)
            return self.newer(last, camera) or (last, b"")

    def end(self) -> None:
        """Wake all handlers that wait, and release all frames. This is called in the loop's thread."""
        with self._changed:
            self._ended = True
            self.watched.clear()
            self._changed.notify_all()
        self._on_change()
        self._work.put(None)
        if self._thread is not None:
            self._thread.join()
        while not self._work.empty():
            work = self._work.get()
            if work is not None:
                work[1].release()
        self.give_back()

    def _run(self) -> None:
        while True:
            work = self._work.get()
            if work is None:
                return
            served, frame = work
            try:
                message = self._render(served, frame)
            except Exception as error:  # the loop continues without a picture
                message = b""
                if not self._reported:
                    self._reported = True
                    self._report(f"The dashboard cannot show {frame.format.pixels} frames: {error}")
            finally:
                self._used.append(frame)
            if message:
                with self._changed:
                    self._count += 1
                    self._newest[served.source] = (self._count, message)
                    self._changed.notify_all()
                self._on_change()

    def _render(self, served: ServedFrame, frame: Frame) -> bytes:
        scaler = self._scalers.get(served.source)
        if scaler is None or scaler.format != frame.format:
            scaler = self._scalers[served.source] = PreviewScaler(frame.format)
        return pack(served, scaler.run(frame))


class PreviewScaler:
    """Scales frames of one format to RGB, at most ``width`` pixels wide."""

    def __init__(self, format: Format, width: int = MAX_WIDTH) -> None:
        from arenite.converters.processing.specification.image_steps import ImageSource, Resize
        from arenite.converters.processing.specification.preprocessing import Preprocessing
        from arenite.host.camera.frames.preprocessor import FramePreprocessor
        from arenite.host.camera.runtimes.base import TensorMemory

        self.format = format
        width = min(width, format.width)
        height = max(round(format.height * width / format.width), 1)
        self._picture = np.empty((1, height, width, 3), np.uint8)
        address, size = self._picture.ctypes.data, self._picture.nbytes
        # For each pixel, bilinear interpolation reads two source pixels per axis, which is good enough for a preview.
        spec = Preprocessing(
            ImageSource("rgb"), (Resize(width, height, method="bilinear", convention="opencv"),)
        )
        memory = TensorMemory("preview", self._picture.shape, "uint8", address, size, scale=1.0)
        self._preprocessor = FramePreprocessor(spec, format, memory)

    def run(self, frame: Frame) -> np.ndarray:
        """Return the scaled picture, uint8, shape (height, width, 3). It is valid until the next call."""
        self._preprocessor.run(frame)
        return cast(np.ndarray, self._picture[0])


def pack(served: ServedFrame, picture: np.ndarray) -> bytes:
    """Encode a picture as a message: ``ARF1``, the number of bytes of the header (4 bytes, little endian), the header
    as JSON, the RGB pixels, and the mask if the answer has a mask."""
    header: dict[str, Any] = {"width": picture.shape[1], "height": picture.shape[0], **served.to_json()}
    header["age_ms"] = round(served.age_ns / 1e6, 2)
    mask = b""
    answer = served.answer
    if answer is not None and answer.mask is not None:
        step = -(-max(answer.mask.shape) // _MAX_MASK_SIDE)
        small = np.ascontiguousarray(answer.mask[::step, ::step], np.uint8)
        header["mask"] = {"width": small.shape[1], "height": small.shape[0], "box": list(answer.mask_box)}
        mask = small.tobytes()
    text = json.dumps(header, separators=(",", ":"), default=str).encode()
    return b"".join((MAGIC, struct.pack("<I", len(text)), text, picture.tobytes(), mask))
