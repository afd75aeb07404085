"""Admit requests: some run, some wait in the order of their arrival, and the others are refused."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class QueueFullError(Exception):
    """All slots are taken, and as many requests wait as may wait."""


class Admission:
    """At most ``slots`` requests run at a time, and at most ``queue`` wait. It is used in one event loop."""

    def __init__(self, slots: int, queue: int) -> None:
        self.slots, self.queue = slots, queue
        self.running = self.waiting = 0
        self._free = asyncio.Semaphore(slots)

    @contextlib.asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Wait for a slot, and keep it until the end of the ``with`` block, also if the task is cancelled. Raises
        ``QueueFullError``."""
        if self._free.locked() and self.waiting >= self.queue:
            raise QueueFullError
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            self._free.release()
