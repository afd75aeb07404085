"""Tests of the watch on the memory of this process."""

from __future__ import annotations

from arenite.host.llm.budget.memory_watch import MemoryWatch
from arenite.host.llm.resident_memory import resident_bytes


def test_memory_above_its_budget_is_told_once() -> None:
    megabytes = resident_bytes() / 1e6
    for limit, count in ((None, 0), (2 * megabytes + 1000, 0), (megabytes / 2, 1)):
        told = list[str]()
        watch = MemoryWatch(limit, told.append)
        watch.look()
        watch.look()
        assert len(told) == count, limit
