"""Detect frames during which the kernel gave the processor to another process. The time of such a frame depends on the
other load of the machine, so it is left out. On an idle machine, such frames are rare."""

from __future__ import annotations

import resource

#: The maximum number of turns, as a multiple of the number that an idle machine needs.
MAX_TURN_RATIO = 6


class Interruptions:
    """Counts interruptions of the calling thread. If ``all_threads`` is true, it counts the interruptions of all
    threads of this process."""

    def __init__(self, all_threads: bool = False) -> None:
        self._who = resource.RUSAGE_SELF if all_threads else resource.RUSAGE_THREAD
        self._switches = 0
        self.count = 0  # how often ``happened`` returned true

    def begin(self) -> None:
        self._switches = resource.getrusage(self._who).ru_nivcsw

    def happened(self) -> bool:
        """Return whether an interruption occurred since ``begin`` or the previous call."""
        before = self._switches
        self.begin()
        self.count += self._switches != before
        return self._switches != before
