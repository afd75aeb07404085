"""A queue of served frames between the camera loop and the consumer of ``CameraSession.stream``."""

from __future__ import annotations

import threading
from collections import deque

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import ServedFrame

#: The maximum number of served frames that wait for the consumer.
MAX_WAITING = 8


class StreamQueue:
    """A sink that hands served frames from the loop's thread to another thread.

    If ``lossless`` is True, the loop waits while the queue is full. Otherwise a full queue drops its oldest frame and
    counts it in ``missed``.
    """

    def __init__(self, lossless: bool) -> None:
        self.missed = 0
        self._lossless = lossless
        self._waiting: deque[ServedFrame] = deque()
        self._changed = threading.Condition()
        self._ended = False

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        with self._changed:
            if self._lossless:
                self._changed.wait_for(lambda: self._ended or len(self._waiting) < MAX_WAITING)
            elif len(self._waiting) >= MAX_WAITING:
                self._waiting.popleft()
                self.missed += 1
            self._waiting.append(served)
            self._changed.notify_all()

    def close(self) -> None:
        """End the queue: no more frames come, and ``take`` no longer waits."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def next(self) -> ServedFrame | None:
        """Wait until the queue has a frame, and return its oldest frame; None if the queue has ended and is empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or bool(self._waiting))
            served = self._waiting.popleft() if self._waiting else None
            self._changed.notify_all()
            return served
