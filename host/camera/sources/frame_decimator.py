"""Fewer frames of a camera that keeps its own rate."""

from __future__ import annotations

LONG_AGO = -(1 << 62)


class FrameDecimator:
    """Says which frames to leave out, so that the others come at ``fps`` in the mean, and none much too close."""

    __slots__ = ("_last_ns", "_next_ns", "_pause_ns")

    def __init__(self) -> None:
        self._pause_ns = 0
        self._next_ns = self._last_ns = LONG_AGO

    def set(self, fps: float | None) -> None:
        """None: none is left out."""
        self._pause_ns, self._next_ns = int(1e9 / fps) if fps else 0, LONG_AGO
        self._last_ns = LONG_AGO

    def drops_frame(self, time_ns: int) -> bool:
        """Of the frame with this time stamp; each is asked about once, in their order."""
        pause = self._pause_ns
        if not pause:
            return False
        # A fifth of a pause early is in time: cameras jitter. After a late one the next may come closer, not at once.
        if time_ns < self._next_ns - pause // 5 or time_ns - self._last_ns < pause // 3:
            return True
        # From when it was due, so that the mean is kept; from now on after a gap.
        self._next_ns = (self._next_ns if time_ns - self._next_ns < pause else time_ns) + pause
        self._last_ns = time_ns
        return False
