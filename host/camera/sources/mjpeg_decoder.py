"""Decode Motion JPEG, which USB cameras send if the bus is too slow for uncompressed frames.

Pictures are decoded into buffers that are reused after their frames are released.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.buffer_pool import BufferPool

#: Maps pixel formats to the names that simplejpeg has for them, and to the bytes per pixel.
_COLOURS = {"rgb": ("RGB", 3), "bgr": ("BGR", 3), "grey": ("GRAY", 1)}
#: The decoder looks for the JPEG end marker in this number of bytes at the end of the data, because cameras pad their
#: last packet.
END_MARKER_BYTES = 2048
#: MAX_PIXELS: the maximum number of pixels if no size was negotiated with the camera. MAX_SIZE_RATIO: otherwise, the
#: maximum number of pixels as a multiple of the negotiated number.
MAX_PIXELS, MAX_SIZE_RATIO = 1 << 26, 4


@dataclass(frozen=True, slots=True)
class DecodedPicture:
    """A decoded picture. The fields are arguments of ``Frame``: ``planes`` has the memory address of each plane,
    ``owner`` is the memory itself, and ``release`` returns it to the pool."""

    format: Format
    planes: tuple[int, ...]
    owner: np.ndarray
    release: Callable[[], None]


class MjpegDecoder:
    """Decodes JPEG pictures to the pixel format ``pixels``.

    ``min_size`` is the minimum width and height: a picture is decoded at the smallest of an eighth, a quarter and a
    half of its size that is not smaller, or else at its full size. This saves much of the time of the inverse DCT,
    and much memory. Raises ``UsageError`` if no decoder is installed, or if the pixel format is not supported.
    """

    def __init__(self, pixels: str = "rgb", min_size: tuple[int, int] | None = None) -> None:
        if pixels not in _COLOURS:
            raise UsageError(f"JPEG cannot be decoded to {pixels}.", f"Use one of {', '.join(_COLOURS)}.")
        try:
            import simplejpeg
        except ImportError as error:
            raise UsageError(
                "The camera sends JPEG, and no decoder for it is installed.",
                "Install the extra: pip install 'arenite[mjpeg]', or request a size that is sent uncompressed.",
            ) from error
        self._jpeg: Any = simplejpeg
        self._pixels, (self._colour, self._bytes) = pixels, _COLOURS[pixels]
        self._min_size = min_size or (0, 0)
        self._memory = BufferPool()
        self._max_pixels = MAX_PIXELS
        self._format: Format | None = None

    def set_camera_size(self, format: Format) -> Format:
        """Return the format that decoded pictures have if the camera sends pictures of the size of ``format``. From now
        on, much larger pictures count as damaged."""
        width, height = self._size(format.width, format.height)
        self._max_pixels = MAX_SIZE_RATIO * format.width * format.height
        return Format(self._pixels, width, height, (width * self._bytes,), format.fps)

    def _size(self, width: int, height: int) -> tuple[int, int]:
        """Return the smallest sufficient size among an eighth, a quarter, a half and the full size. Other sizes, such
        as three eighths, have no fast transform and can take longer than the full size."""
        for divisor in (8, 4, 2):
            part_width, part_height = -(-width // divisor), -(-height // divisor)
            if all(self._min_size) and part_width >= self._min_size[0] and part_height >= self._min_size[1]:
                return part_width, part_height
        return width, height

    def decode(self, address: int, length: int, fps: float) -> DecodedPicture | None:
        """Decode the JPEG picture of ``length`` bytes at ``address``. Return None if it is damaged. ``fps`` is only
        stored in the result's format."""
        data = memoryview((ctypes.c_uint8 * length).from_address(address)).cast("B")
        # Cameras add stray bytes for which decoders warn, so warnings are ignored. A picture without an end marker is
        # truncated, and its lower part would be grey.
        if bytes(data[-END_MARKER_BYTES:]).rfind(b"\xff\xd9") < 0:
            return None
        try:
            full_height, full_width, _, _ = self._jpeg.decode_jpeg_header(data, 0, 0, 1.0, False)
            if full_width * full_height > self._max_pixels:
                return None  # a wrong header would allocate gigabytes
            width, height = self._size(full_width, full_height)
            memory = self._memory.take(width * height * self._bytes)
            self._jpeg.decode_jpeg(data, self._colour, False, False, height, width, 1.0, memory, False)
        except (ValueError, KeyError):
            return None
        known = self._format
        if known is None or (known.width, known.height, known.fps) != (width, height, fps):
            known = self._format = Format(self._pixels, width, height, (width * self._bytes,), fps)
        return DecodedPicture(known, (memory.ctypes.data,), memory, self._memory.release_function(memory))
