"""Provide memory for decoded pictures. The memory is used again as soon as its frame is released."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from arenite.host.camera.frames.frame import Format


def consecutive_planes(format: Format, base: int) -> tuple[int, ...]:
    """Return the address of each plane. The first plane is at ``base``, and the planes follow each other without gaps.
    Every plane after the first one has half the number of rows."""
    addresses, rows = [base], format.height
    for stride in format.strides[:-1]:
        addresses.append(addresses[-1] + stride * rows)
        rows = format.height // 2
    return tuple(addresses)


class BufferPool:
    """A pool of arrays of one size. If n frames are held at the same time, there are at most n + 1 arrays."""

    def __init__(self) -> None:
        self._size = 0
        self._free: deque[np.ndarray] = deque()

    def take(self, size: int) -> np.ndarray:
        """Return an array, uint8, shape (size,), with undefined content."""
        if size != self._size:
            self._size = size
            self._free.clear()
        try:
            return self._free.popleft()
        except IndexError:
            return np.empty(size, np.uint8)

    def put_back(self, memory: np.ndarray) -> None:
        """Put ``memory`` back into the pool, unless the size of arrays has changed."""
        if memory.size == self._size:
            self._free.append(memory)

    def release_function(self, memory: np.ndarray) -> Callable[[], None]:
        """Return a function that puts ``memory`` back. A frame calls it when it is released."""
        return lambda: self.put_back(memory)
