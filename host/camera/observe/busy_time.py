"""Measure the time during which at least one of several overlapping stages worked."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class BusyTime:
    """The length of the union of spans of time. The memory does not grow with the number of spans.

    Spans arrive nearly in order: a frame is reported when it is finished, and the next frames may have begun before
    that. Spans that touch or overlap are joined. The last ``keep`` joined spans or more are stored; older spans are
    only counted. If a later span begins before the end of the counted spans, the part before that end is ignored.
    """

    def __init__(self, keep: int = 64) -> None:
        self._keep = keep
        self._begins: list[int] = []  # the beginnings of the joined spans, ascending
        self._ends: list[int] = []
        self._counted_ns = 0  # the length of the spans that are only counted
        self._forgotten_until = 0

    @property
    def ns(self) -> int:
        return self._counted_ns + sum(self._ends) - sum(self._begins)

    def add(self, begin_ns: int, end_ns: int) -> None:
        """Add a span of work from ``begin_ns`` to ``end_ns``, both by the same clock, in nanoseconds from 0."""
        if begin_ns < self._forgotten_until:
            begin_ns = self._forgotten_until
        if end_ns <= begin_ns:
            return
        # This runs for every frame, so the usual case comes first and is fast.
        if not self._ends or begin_ns > self._ends[-1]:
            self._begins.append(begin_ns)
            self._ends.append(end_ns)
        else:
            first = bisect_left(self._ends, begin_ns)
            last = bisect_right(self._begins, end_ns)
            if first < last:
                begin_ns = min(begin_ns, self._begins[first])
                end_ns = max(end_ns, self._ends[last - 1])
            self._begins[first:last] = [begin_ns]
            self._ends[first:last] = [end_ns]
        if len(self._begins) > 2 * self._keep:
            self._forget(len(self._begins) - self._keep)

    def _forget(self, count: int) -> None:
        self._counted_ns += sum(self._ends[:count]) - sum(self._begins[:count])
        self._forgotten_until = self._ends[count - 1]
        del self._begins[:count], self._ends[:count]
