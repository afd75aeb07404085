"""Send a frame through a pipe to another process, and receive it there."""

from __future__ import annotations

import ctypes
import pickle
from typing import IO, Any

import numpy as np

from arenite.converters.processing.specification.pixel_formats import planes_of
from arenite.host.camera.frames.frame import CropWindow, Format, Frame


def plane_sizes(format: Format) -> list[int]:
    """Return the number of bytes of each plane of a frame."""
    planes = planes_of(format.pixels, format.width, format.height)
    strides = format.strides if len(format.strides) == len(planes) else (format.strides[0],) * len(planes)
    return [rows * stride for (_, rows), stride in zip(planes, strides, strict=True)]


def send_frame(pipe: IO[Any], frame: Frame, window: CropWindow | None) -> None:
    """Write ``frame`` to ``pipe``. Raises ``OSError`` if nobody reads."""
    pickle.dump((frame.format, window), pipe)
    for address, size in zip(frame.planes, plane_sizes(frame.format), strict=True):
        pipe.write(memoryview((ctypes.c_uint8 * size).from_address(address)))
    pipe.flush()


class FrameReceiver:
    """Reads frames from a pipe. A frame is valid until the next one is read. Raises ``EOFError`` at the end."""

    def __init__(self, pipe: IO[Any]) -> None:
        self._pipe = pipe
        self._format: Format | None = None
        self._planes: list[np.ndarray] = []

    def read(self) -> tuple[Frame, CropWindow | None]:
        format, window = pickle.load(self._pipe)
        if format != self._format:
            self._planes = [np.empty(size, np.uint8) for size in plane_sizes(format)]
        self._format = format
        for plane in self._planes:
            view = plane.data
            while view.nbytes:
                count = self._pipe.readinto(view)  # type: ignore[attr-defined]
                if not count:
                    raise EOFError
                view = view[count:]
        addresses = tuple(plane.ctypes.data for plane in self._planes)
        return Frame(format, addresses, self._planes, 0, 0), window
