"""A frame: a picture that stays in the camera's own memory until its buffer is returned to the camera."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Format:
    """The format of a source's frames. ``pixels`` is an uncompressed format (yuyv, uyvy, nv12, grey, rgb, bgr, rgba,
    bgra, rgb565, ...). ``strides`` has, for each plane, the number of bytes from one row to the next."""

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

    ``planes`` has the memory address of each plane of pixels, which is valid until ``release``; ``owner`` keeps the
    memory alive. Whoever reads a frame from a source is its first holder; ``retain`` adds a holder. Each holder calls
    ``release`` once. When the last holder has done so, the source gets its buffer back.
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
        self.sequence = sequence  # the source counts from 0; a gap means that frames were not read
        self.time_ns = time_ns  # time of the capture by time.monotonic_ns
        self.dmabuf = dmabuf  # file descriptor of the same memory; None if the driver exports none
        self.source = source  # index of the camera
        # Number of older frames that were dropped between the previous frame and this frame.
        self.missed = missed
        # Whether this is an older frame that is used again because its camera is late.
        self.stand_in = stand_in
        # The list has one token per holder. The first token returns the buffer and is popped last. pop() is atomic, so
        # two threads never get the same token.
        self._tokens: list[Callable[[], None] | None] = [release]

    def retain(self) -> Frame:
        """Add a holder and return the frame. Only a present holder may call this."""
        self._tokens.append(None)
        return self

    def release(self) -> None:
        """Remove one holder. When the last holder is removed, the buffer is returned. Further calls do nothing."""
        try:
            token = self._tokens.pop()
        except IndexError:
            return
        if token is not None:
            token()

    def rows(self, plane: int = 0) -> np.ndarray:
        """Return a view of a plane, uint8, shape (rows, stride), without a copy. Every plane after the first one has
        half the number of rows, as in NV12."""
        import ctypes

        rows = self.format.height if plane == 0 else self.format.height // 2
        stride = self.format.strides[plane]
        memory = (ctypes.c_uint8 * (rows * stride)).from_address(self.planes[plane])
        return np.frombuffer(memoryview(memory), np.uint8).reshape(rows, stride)
