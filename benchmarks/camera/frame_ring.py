"""Simulate a camera's ring of buffers. It delivers the same frames to every contender, in the same way as V4L2.

A frame is an address and a number. Nothing is copied, and a buffer is delivered again only after it was released. A
real driver adds two system calls (DQBUF and QBUF), which ``make test-vm`` runs.
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
    """A ``Source`` that delivers the newest frame at ``fps`` frames per second. If ``fps`` is None, it delivers the
    next frame on request."""

    name = "ring"

    def __init__(self, fps: float | None = None, buffers: int = RING) -> None:
        self.live = fps is not None
        self.counters = SourceCounters()
        # All frames have the same format object, as in a camera that stays open.
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
                    if timeout_s > 0:
                        time.sleep(timeout_s)
                    return None
                time.sleep(wait / 1e9)
            else:
                missed = -wait // self._period_ns
            now = self._next_ns + missed * self._period_ns  # time of the capture
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
