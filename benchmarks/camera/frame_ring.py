"""A camera's ring of buffers without the camera: the same frames for every contender, handed over as V4L2 hands them.

A frame is an address and a number; nothing is copied, and a buffer is handed out again only after it was given back.
What a real driver adds are two system calls (DQBUF and QBUF); ``make test-vm`` runs those.
"""

from __future__ import annotations

import time
from collections import deque
from functools import cache

from arenite.errors import ToolError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources.base import SourceCounters
from benchmarks.camera.pictures import HEIGHT, RING, WIDTH, ring


@cache
def _format(fps: float) -> Format:
    return Format("yuyv", WIDTH, HEIGHT, (2 * WIDTH,), fps)


class FrameRing:
    """A ``Source``. ``fps``: frames come at that rate, and the newest counts; None: as soon as they are requested."""

    name = "ring"

    def __init__(self, fps: float | None = None, buffers: int = RING) -> None:
        self.live = fps is not None
        self.counters = SourceCounters()
        # The same object every time, as a camera that stays open has it.
        self.format = _format(fps or 0.0)
        self._period_ns = int(1e9 / fps) if fps else 0
        self._buffers = [picture.yuyv for picture in ring(buffers)]
        self._addresses = [(buffer.ctypes.data,) for buffer in self._buffers]
        self._free: deque[int] = deque()
        self._next_ns = 0
        self._last = -1

    def open(self) -> Format:
        self._free = deque(range(len(self._buffers)))
        self._next_ns = time.monotonic_ns() + self._period_ns
        self._last = -1
        return self.format

    def read(self, timeout_s: float) -> Frame | None:
        now, sequence, missed = time.monotonic_ns(), self.counters.captured, 0
        if self._period_ns:
            wait = self._next_ns - now
            if wait > 0:
                if wait > timeout_s * 1e9:
                    time.sleep(timeout_s)
                    return None
                time.sleep(wait / 1e9)
            else:
                missed = -wait // self._period_ns
            now = self._next_ns + missed * self._period_ns  # when the camera had it
            self._next_ns = now + self._period_ns
            sequence += missed
            self.counters.dropped += missed
        if not self._free:
            raise ToolError("Every buffer of the ring is still held: a frame was not released.")
        index = self._free.popleft()
        self.counters.captured = sequence + 1
        return Frame(
            self.format,
            self._addresses[index],
            self,
            sequence,
            now,
            lambda: self._free.append(index),
            missed=missed,
        )

    def set_rate(self, fps: float) -> float:
        self._period_ns = int(1e9 / fps)
        return fps

    def close(self) -> None:
        self._free.clear()
