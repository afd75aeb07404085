"""Compute percentiles, rates and jitter from the times of all frames, in bounded memory.

The statistics are computed for several windows: the whole run, and parts of it. A frame costs a few additions to a
list. Blocks of frames are then added to every open window. A window stores the exact values until there are too many,
and then a histogram with logarithmic buckets (``distribution``).
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.observe.statistics_window import SECOND, BlockTimes, FrameBlock, StatisticsWindow

#: The maximum number of frames in a block.
_MAX_BLOCK = 1024


class Statistics:
    """The statistics of one loop. Only the loop's thread may call ``add``; all other methods may be called from any
    thread.

    The windows are ``all``, ``minute_1``, ``last_minute``, and those that ``restart`` creates, such as the time since
    the governor's last step. ``last_minute`` moves in steps (slices) of five seconds, so that it covers 55 to 60 s.
    Percentiles are exact for up to ``exact`` values per stage and window, and within 1 % for more values.
    """

    def __init__(self, exact: int = 8192, minute_s: float = 60.0, slices: int = 12) -> None:
        self._lock = threading.Lock()
        self._exact = exact
        self._minute_ns = round(minute_s * SECOND)
        self._slice_ns = self._minute_ns // slices
        self._block = FrameBlock()
        self._begun_ns = 0
        self._fold_at = 0  # end of the current slice
        self._previous_ns = 0  # time of the last answer
        self._everything = StatisticsWindow(exact)
        self._minute_1 = StatisticsWindow(exact)
        self._minute_1_open = True
        self._slice = StatisticsWindow(exact)
        self._recent: deque[StatisticsWindow] = deque(maxlen=max(1, slices - 1))
        self._named: dict[str, StatisticsWindow] = {}

    def add(self, served: ServedFrame) -> None:
        """Add a frame that was answered."""
        spans = served.spans
        kind = (served.by, served.model, *spans)
        with self._lock:
            block = self._block
            rows = block.rows.get(kind)
            if rows is None:
                rows = block.rows[kind] = []
            span = (0, 0)
            for span in spans.values():
                rows += span
            rows.append(served.time_ns)
            # Use the end of the last stage as the time of the answer. This is exact enough for slices of seconds.
            if spans and span[1] >= self._fold_at:
                block = self._start_slice(kind, span[1])
            block.served += 1
            if served.missed:
                block.missed += served.missed
            if served.late:
                block.late += 1
            if block.served >= _MAX_BLOCK:
                self._fold()

    def _start_slice(self, kind: tuple[str, ...], answered_ns: int) -> FrameBlock:
        """Begin a new slice and a new block with the frame whose times were just added, and return the block. The times
        of the frame move to the new block."""
        rows = self._block.rows[kind]
        width = 2 * (len(kind) - 2) + 1  # the number of times of one frame (see ``FrameBlock.rows``)
        row = rows[-width:]
        del rows[-width:]
        self._fold()
        if not self._begun_ns:
            self._begun_ns = answered_ns
        else:
            self._recent.append(self._slice)
            self._slice = StatisticsWindow(self._exact)
            # Slices without an answer also count as a part of the last minute.
            for _ in range(min(self._recent.maxlen or 0, (answered_ns - self._fold_at) // self._slice_ns)):
                self._recent.append(StatisticsWindow(self._exact))
        if answered_ns - self._begun_ns >= self._minute_ns:
            self._minute_1_open = False
        past_slices = (answered_ns - self._begun_ns) // self._slice_ns
        self._fold_at = self._begun_ns + (past_slices + 1) * self._slice_ns
        self._block.rows.setdefault(kind, []).extend(row)
        return self._block

    def _fold(self) -> None:
        """Add the present block to every open window, and start a new block."""
        if not self._block.served:
            return
        folded = BlockTimes(self._block, self._previous_ns)
        self._block = FrameBlock()
        self._previous_ns = folded.last_ns or self._previous_ns
        windows = [self._everything, self._slice, *self._named.values()]
        if self._minute_1_open:
            windows.append(self._minute_1)
        for window in windows:
            window.take(folded)

    def restart(self, name: str) -> StatisticsWindow | None:
        """End the window ``name``, and begin a new window of this name with the next frame. Return the window that
        ended; None for a new name."""
        with self._lock:
            self._fold()
            finished = self._named.get(name)
            self._named[name] = StatisticsWindow(self._exact)
            return finished

    def window(self, name: str) -> StatisticsWindow:
        """Return a copy of the window ``name``: ``all``, ``minute_1``, ``last_minute``, or a name that was given to
        ``restart``. Raises ``KeyError``."""
        with self._lock:
            self._fold()
            if name == "last_minute":
                result = StatisticsWindow(self._exact)
                for window in (*self._recent, self._slice):
                    result.merge(window)
                return result
            fixed = {"all": self._everything, "minute_1": self._minute_1}
            return (fixed.get(name) or self._named[name]).copy()

    def summary(self) -> dict[str, Any]:
        """Return the statistics of the complete run as JSON. The entry ``windows`` has the statistics of the first and
        the last minute."""
        result = self.window("all").to_json()
        result["windows"] = {name: self.window(name).to_json() for name in ("minute_1", "last_minute")}
        return result
