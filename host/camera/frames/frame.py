"""A picture in the camera's own memory: addresses, strides, and a way to return the buffer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Format:
    """The format of a source's frames. ``pixels`` is an uncompressed format (yuyv, uyvy, nv12, grey, rgb, bgr, rgba,
    bgra, rgb565, ...); ``strides`` are the bytes from one row to the next, one per plane."""

    pixels: str
    width: int
    height: int
    strides: tuple[int, ...]
    fps: float = 0.0  # nominal frame rate; 0 if unknown


@dataclass(frozen=True, slots=True)
class CropWindow:
    """The rectangle of a frame, in pixels, that the model gets."""

    left: int
    top: int
    width: int
    height: int


class Frame:
    """One picture in the source's own memory.

    ``planes`` are addresses, which are valid until ``release``; ``owner`` keeps their memory alive. The reader of a
    frame releases it once; ``retain`` adds another holder. The source gets its buffer back when the last holder has
    released it.
    """

    __slots__ = (
        "_tokens",
        "dmabuf",
        "format",
        "missed",
        "owner",
        "planes",
        "sequence",
        "source",
        "stand_in",
        "time_ns",
    )

    def __init__(
        self,
        format: Format,
        planes: tuple[int, ...],
        owner: object,
        sequence: int,
        time_ns: int,
        release: Callable[[], None] | None = None,
        dmabuf: int | None = None,
        source: int = 0,
        missed: int = 0,
        stand_in: bool = False,
    ) -> None:
        self.format = format
        self.planes = planes
        self.owner = owner
        self.sequence = sequence  # counted by the source from 0; gaps are frames that were not read
        self.time_ns = time_ns  # time of the capture by time.monotonic_ns
        self.dmabuf = dmabuf  # file descriptor of the same memory, if the driver exports one
        self.source = source  # index of the camera
        self.missed = (
            missed  # frames between the previous frame and this one that were dropped because they were old
        )
        self.stand_in = stand_in  # whether this is an older frame, used again because its camera is late
        # One token per holder; the last one popped returns the buffer. pop() is atomic, so two threads never get the
        # same token.
        self._tokens: list[Callable[[], None] | None] = [release]

    def retain(self) -> Frame:
        """Add a holder. Only a present holder may call this."""
        self._tokens.append(None)
        return self

    def release(self) -> None:
        """Drop one holder; the last one returns the buffer. Further calls do nothing."""
        try:
            token = self._tokens.pop()
        except IndexError:
            return
        if token is not None:
            token()

    def rows(self, plane: int = 0) -> np.ndarray:
        """Return a view of a plane, uint8, shape (rows, stride), without a copy. The second plane of NV12 has half the
        rows."""
        import ctypes

        rows = self.format.height if plane == 0 else self.format.height // 2
        stride = self.format.strides[plane]
        memory = (ctypes.c_uint8 * (rows * stride)).from_address(self.planes[plane])
        return np.frombuffer(memoryview(memory), np.uint8).reshape(rows, stride)
