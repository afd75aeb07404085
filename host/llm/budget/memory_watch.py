"""Watch the memory of this process while it runs a language model."""

from __future__ import annotations

from collections.abc import Callable

from arenite.host.llm.budget.result import memory_check
from arenite.host.llm.resident_memory import resident_bytes


class MemoryWatch:
    """Reports once if this process has ever had more than ``memory_mb`` MB; None is no limit. ``report`` takes a
    sentence."""

    def __init__(self, memory_mb: float | None, report: Callable[[str], None]) -> None:
        self._memory_mb, self._report = memory_mb, report
        self._told = False

    def look(self) -> None:
        if self._memory_mb is None or self._told:
            return
        check = memory_check(self._memory_mb, resident_bytes())
        if not check.kept:
            self._told = True
            self._report(
                f"The memory has reached {check.value:,.0f} MB, more than the {self._memory_mb:,.0f} MB of "
                "--memory-budget."
            )
