"""A picture where the camera left it: addresses, strides, and a way to give the buffer back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

#: Readers of one frame may be in several threads.
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Format:
    """What a source delivers. ``pixels``: a name of ``converters.processing.colour`` (yuyv, uyvy, nv12, grey, rgb, bgr,
    rgba, bgra, rgb565), never compressed; ``strides``: bytes from one row to the next, one per plane."""

    pixels: str
    width: int
    height: int
    strides: tuple[int, ...]
    fps: float = 0.0  # nominal; 0 when unknown


@dataclass(frozen=True, slots=True)
class CropWindow:
    """A rectangle of a frame in pixels: what the model is shown."""

    left: int
    top: int
    width: int
    height: int


class Frame:
    """One picture in the source's own memory.

    ``planes`` are addresses, valid until ``release``; ``owner`` keeps that memory alive. Whoever reads a frame from a
    source releases it, once; ``retain`` lets one more reader hold it. The source gets its buffer back with the last.
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
        self.sequence = sequence  # of the source, from 0; gaps are frames that nobody saw
        self.time_ns = time_ns  # of the capture, time.monotonic_ns
        self.dmabuf = dmabuf  # file descriptor of the same memory, where the driver exports one
        self.source = source  # which camera, with several
        self.missed = missed  # frames between the last one read and this one, dropped for being old
        self.stand_in = stand_in  # an older frame again, for a camera that is late
        # One token per holder, the first of them gives the buffer back. pop() is atomic: no two threads get the same.
        self._tokens: list[Callable[[], None] | None] = [release]

    def retain(self) -> Frame:
        """One more holder; only for who holds the frame."""
        self._tokens.append(None)
        return self

    def release(self) -> None:
        """Give the buffer back. More often than retained is no error."""
        try:
            token = self._tokens.pop()
        except IndexError:
            return
        if token is not None:
            token()

    def rows(self, plane: int = 0) -> np.ndarray:
        """uint8 [rows, stride] view, no copy, of a plane (NV12's second has half the rows)."""
        import ctypes

        rows = self.format.height if plane == 0 else self.format.height // 2
        stride = self.format.strides[plane]
        memory = (ctypes.c_uint8 * (rows * stride)).from_address(self.planes[plane])
        return np.frombuffer(memoryview(memory), np.uint8).reshape(rows, stride)
