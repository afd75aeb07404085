"""Reduce the frame rate of a camera whose own rate cannot be changed, by dropping frames."""

from __future__ import annotations

LONG_AGO = -(1 << 62)


class FrameDecimator:
    """Decides which frames to drop so that the remaining frames have the mean rate that ``set`` sets, with a minimum
    time between them."""

    __slots__ = ("_last_ns", "_next_ns", "_pause_ns")

    def __init__(self) -> None:
        self._pause_ns = 0
        self._next_ns = self._last_ns = LONG_AGO

    def set(self, fps: float | None) -> None:
        """Set the rate in frames per second. None means that no frames are dropped."""
        self._pause_ns, self._next_ns = int(1e9 / fps) if fps else 0, LONG_AGO
        self._last_ns = LONG_AGO

    def drops_frame(self, time_ns: int) -> bool:
        """Return whether to drop the frame with the time stamp ``time_ns``. Call this once for each frame, in their
        order."""
        pause = self._pause_ns
        if not pause:
            return False
        # The times of a camera's frames jitter, so a frame may be a fifth of a pause early. After a late frame, the
        # next frame may follow sooner than a pause, but not sooner than a third of it.
        if time_ns < self._next_ns - pause // 5 or time_ns - self._last_ns < pause // 3:
            return True
        # Count from the time at which the frame was due, which keeps the mean rate. After a gap, count from now.
        self._next_ns = (self._next_ns if time_ns - self._next_ns < pause else time_ns) + pause
        self._last_ns = time_ns
        return False
