"""Interruptions: frames during which the kernel gave the processor to another process. Such a frame measures the
other load of the machine and is left out; on an idle machine there are next to none."""

from __future__ import annotations

import resource

#: Turns that are tried at most, in parts of those that are needed on an idle machine.
PATIENCE = 6


class Interruptions:
    """Count for the calling thread, or with ``whole`` for all threads of this process."""

    def __init__(self, whole: bool = False) -> None:
        self._who = resource.RUSAGE_SELF if whole else resource.RUSAGE_THREAD
        self._seen = 0
        self.count = 0  # times that ``happened`` was true

    def begin(self) -> None:
        self._seen = resource.getrusage(self._who).ru_nivcsw

    def happened(self) -> bool:
        """Return the count since ``begin``, or since the latest call."""
        before = self._seen
        self.begin()
        self.count += self._seen != before
        return self._seen != before
