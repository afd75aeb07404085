"""Reconnect a camera that was unplugged or reset, or that stopped sending: open it again until frames arrive."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from arenite.errors import AreniteError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources.base import Source, SourceCounters, SourceLost

#: The wait in seconds before the first attempt, and the longest wait between two attempts. Each wait is twice the
#: previous wait, changed at random by up to ``JITTER``, a quarter.
FIRST_DELAY_S, MAX_DELAY_S, JITTER = 0.25, 10.0, 0.25
#: A live camera that sends no frame for this number of seconds is opened again.
SILENT_S = 5.0


class ReconnectingSource:
    """A ``Source`` that wraps another source and uses its counters. ``read`` returns None while the camera is lost.

    If the first ``open`` fails, its error is raised at once, because a camera that never worked is a mistake of the
    user. A lost camera is opened again under the same name. If there are several cameras, names such as /dev/video0 can
    be exchanged between them when they reconnect, so give links such as /dev/v4l/by-id/… instead.

    ``on_message`` is called with a sentence when the camera is lost and when it is back.
    """

    def __init__(
        self,
        source: Source,
        *,
        on_message: Callable[[str], None] | None = None,
        first_s: float = FIRST_DELAY_S,
        max_s: float = MAX_DELAY_S,
        silent_s: float = SILENT_S,
        seed: int | None = None,
    ) -> None:
        self.inner = source
        self._on_message = on_message or (lambda _: None)
        self._first_s, self._max_s, self._silent_s = first_s, max_s, silent_s
        self._random = random.Random(seed)
        self._is_lost = False
        self._wait_s = 0.0
        self._next_attempt_s = 0.0  # time.monotonic() of the next attempt
        self._last_frame_s = 0.0
        self._rate = 0.0
        self._format: Format | None = None

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def live(self) -> bool:
        return self.inner.live

    @property
    def counters(self) -> SourceCounters:
        return self.inner.counters

    def open(self) -> Format:
        self._format = self.inner.open()
        self._is_lost, self._last_frame_s = False, time.monotonic()
        return self._format

    def read(self, timeout_s: float) -> Frame | None:
        end = time.monotonic() + timeout_s
        if self._is_lost and not self._reopen(end):
            return None
        try:
            frame = self.inner.read(max(end - time.monotonic(), 0.0))
        except SourceLost as error:
            self._lose(error.problem)
            return None
        now = time.monotonic()
        if frame is not None:
            self._last_frame_s = now
        elif self.live and now - self._last_frame_s > self._silent_s:
            self._lose(f"{self.name} sent no picture for {self._silent_s:g} s.")
        return frame

    def set_rate(self, fps: float) -> float:
        """Set the rate, now and after each reconnect. While the camera is lost, return the requested rate."""
        self._rate = fps
        return fps if self._is_lost else self.inner.set_rate(fps)

    def close(self) -> None:
        self.inner.close()

    def _lose(self, reason: str) -> None:
        self.inner.close()
        self._is_lost, self._wait_s = True, self._first_s
        self._schedule()
        self._on_message(f"{reason} Reconnecting.")

    def _schedule(self) -> None:
        wait = self._wait_s * (1 + JITTER * (2 * self._random.random() - 1))
        self._next_attempt_s = time.monotonic() + wait
        self._wait_s = min(self._wait_s * 2, self._max_s)

    def _reopen(self, end: float) -> bool:
        """Wait for the next attempts to open the camera, at most until the time ``end``. Return True if it is open
        again."""
        while True:
            now = time.monotonic()
            if self._next_attempt_s > now:
                time.sleep(max(min(self._next_attempt_s, end) - now, 0.0))
                if self._next_attempt_s > end:
                    return False
            try:
                format = self.inner.open()
                if self._rate:
                    self.inner.set_rate(self._rate)
            # While the driver sets up the device, errors of permissions and formats can occur, so these are retried
            # too.
            except AreniteError:
                self.inner.close()
                self._schedule()
                continue
            self.counters.reconnects += 1
            self._is_lost, self._last_frame_s = False, time.monotonic()
            changed = (
                f" with {format.pixels} {format.width}x{format.height}" if format != self._format else ""
            )
            self._format = format
            self._on_message(f"{self.name} is back{changed}.")
            return True
