"""Predict when the next frame of a live source arrives, from the time stamps and arrivals of earlier frames.

A frame arrives some time after its time stamp: the lag. Only a thread that polls sees the arrival itself. A thread that
slept learns of it later, after its wake-up and after the source has decoded the frame, so such a frame only corrects
the lag by a small step.
"""

from __future__ import annotations

from arenite.host.camera.frames.frame import Frame

#: The weight of the newest time between two frames, and of the newest lag that was seen.
_WEIGHT = 0.125
#: A time between two frames that differs by more than this share means that the source has another rate now.
_RATE_CHANGE = 0.25
#: The longest time between two frames that is predicted.
_MAX_INTERVAL_NS = 2_000_000_000
#: The lag rises by this share of the correcting step if only the end of the read is known.
_SLOW_RISE = 0.05


class ArrivalForecast:
    """Predicts the arrival of the next frame. If there are several cameras, it predicts only the frames of the camera
    that delivered the first frame.

    ``step_ns``: the correction in nanoseconds after a frame whose arrival nobody saw.
    """

    def __init__(self, step_ns: int) -> None:
        self._step_ns = step_ns
        self.interval_ns = 0.0  # time between two frames; 0 if it is not known
        self._camera: int | None = None
        self._last_ns = 0  # time stamp of the last frame
        self._lag_ns: float | None = None

    @property
    def due_ns(self) -> int:
        """The predicted arrival of the next frame by time.monotonic_ns; 0 if it is not known yet."""
        if not self.interval_ns or self._lag_ns is None:
            return 0
        return round(self._last_ns + self.interval_ns + self._lag_ns)

    def add(self, frame: Frame) -> bool:
        """Learn from the time stamp of ``frame``. Return False for a frame that is not predicted: that of another
        camera, or a repeated one. Call no other method for such a frame."""
        if self._camera is None:
            self._camera = frame.source
        if frame.source != self._camera or frame.stand_in:
            return False
        if self._last_ns:
            interval = (frame.time_ns - self._last_ns) / (frame.missed + 1)
            if not 0 < interval <= _MAX_INTERVAL_NS:
                self.interval_ns = 0.0
            elif abs(interval - self.interval_ns) > _RATE_CHANGE * self.interval_ns:
                self.interval_ns = interval
            else:
                self.interval_ns += _WEIGHT * (interval - self.interval_ns)
        self._last_ns = frame.time_ns
        return True

    def learn_arrival(self, frame: Frame, time_ns: int) -> None:
        """Learn that ``frame`` arrived at ``time_ns``."""
        lag = max(time_ns - frame.time_ns, 0)
        self._lag_ns = lag if self._lag_ns is None else self._lag_ns + _WEIGHT * (lag - self._lag_ns)

    def learn_arrival_in_sleep(self) -> None:
        """Learn that a frame arrived before the thread woke up to poll for it."""
        if self._lag_ns is not None:
            self._lag_ns = max(self._lag_ns - self._step_ns, 0)

    def learn_latest_arrival(self, frame: Frame, time_ns: int) -> None:
        """Learn that ``frame`` arrived at ``time_ns`` or before, perhaps long before."""
        if self._lag_ns is not None:
            self._lag_ns = min(self._lag_ns, max(time_ns - frame.time_ns, 0))

    def learn_end_of_read(self, frame: Frame, time_ns: int, polled: bool) -> None:
        """Learn that a read that had to wait returned ``frame`` at ``time_ns``. ``polled`` says whether the
        thread polled before this read, and the frame did not arrive meanwhile."""
        lag = max(time_ns - frame.time_ns, 0)
        if self._lag_ns is None or lag < self._lag_ns:
            self._lag_ns = lag
        else:
            self._lag_ns = min(self._lag_ns + (1.0 if polled else _SLOW_RISE) * self._step_ns, lag)
