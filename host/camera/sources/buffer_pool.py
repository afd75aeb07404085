"""Memory for decoded pictures, used again as soon as its frame is released."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from arenite.host.camera.frames.frame import Format


def consecutive_planes(format: Format, base: int) -> tuple[int, ...]:
    """Addresses of the planes where each begins right behind all rows of the one before; those after the first have
    half as many."""
    addresses, rows = [base], format.height
    for stride in format.strides[:-1]:
        addresses.append(addresses[-1] + stride * rows)
        rows = format.height // 2
    return tuple(addresses)


class BufferPool:
    """Arrays of one size at a time. There are never more than frames are held at once, and one."""

    def __init__(self) -> None:
        self._size = 0
        self._free: deque[np.ndarray] = deque()

    def take(self, size: int) -> np.ndarray:
        """uint8 [size], with anything in it."""
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
        """What a frame calls in the end."""
        return lambda: self.back(memory)
