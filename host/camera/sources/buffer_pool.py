"""Memory for decoded pictures that is used again as soon as its frame is released."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from arenite.host.camera.frames.frame import Format


def consecutive_planes(format: Format, base: int) -> tuple[int, ...]:
    """Addresses of planes that follow each other without gaps from ``base``; those after the first have half as many
    rows."""
    addresses, rows = [base], format.height
    for stride in format.strides[:-1]:
        addresses.append(addresses[-1] + stride * rows)
        rows = format.height // 2
    return tuple(addresses)


class BufferPool:
    """Arrays of one size. There are at most one more than frames that are held at once."""

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

    def back(self, memory: np.ndarray) -> None:
        if memory.size == self._size:
            self._free.append(memory)

    def release(self, memory: np.ndarray) -> Callable[[], None]:
        """Return the function that returns ``memory``, for a frame to call when it is released."""
        return lambda: self.back(memory)
