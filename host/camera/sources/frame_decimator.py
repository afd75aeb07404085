"""Reduce the frame rate of a camera that keeps its own rate."""

from __future__ import annotations

LONG_AGO = -(1 << 62)


class FrameDecimator:
    """Decides which frames to drop so that the others have the mean rate ``fps`` and keep a minimum distance."""

    __slots__ = ("_last_ns", "_next_ns", "_pause_ns")

    def __init__(self) -> None:
        self._pause_ns = 0
        self._next_ns = self._last_ns = LONG_AGO

    def set(self, fps: float | None) -> None:
        """Set the rate in frames per second; None drops no frames."""
        self._pause_ns, self._next_ns = int(1e9 / fps) if fps else 0, LONG_AGO
        self._last_ns = LONG_AGO

    def drops_frame(self, time_ns: int) -> bool:
        """Return whether to drop the frame with this time stamp. Call it once for each frame, in their order."""
        pause = self._pause_ns
        if not pause:
            return False
        # Cameras jitter, so a frame may come a fifth of a pause early. After a late frame the next frame may come
        # sooner, but not at once.
        if time_ns < self._next_ns - pause // 5 or time_ns - self._last_ns < pause // 3:
            return True
        # Count from the time at which the frame was due, which keeps the mean rate. After a gap, count from now.
        self._next_ns = (self._next_ns if time_ns - self._next_ns < pause else time_ns) + pause
        self._last_ns = time_ns
        return False
