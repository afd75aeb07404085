"""Put the rows of a camera together to pictures."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np

from arenite.errors import UsageError
from arenite.host.live.messages import Row


@dataclass(frozen=True)
class Picture:
    """A complete picture: uint8 ``pixels`` [height, width, 1 or 3]."""

    number: int
    pixels: np.ndarray


class PictureAssembler:
    """Collects the rows of one picture after the other. A picture with a missing row is dropped and counted."""

    def __init__(self, width: int, height: int) -> None:
        self.incomplete = 0
        self._width, self._height = width, height
        self._number: int | None = None
        self._bytes = np.zeros((0, 0), np.uint8)
        self._has = np.zeros((0, 0), bool)

    def add(self, row: Row) -> Picture | None:
        """Add a part of a row, and return the picture that it completes, or None."""
        if row.picture != self._number:
            self.incomplete += self._number is not None and not self._has.all()
            self._number = row.picture
            self._bytes = np.zeros((self._height, self._width * row.bytes_per_pixel), np.uint8)
            self._has = np.zeros(self._bytes.shape, bool)
        end = row.start + len(row.data)
        if row.row >= self._height or end > self._bytes.shape[1] or self._has.all():
            return None
        self._bytes[row.row, row.start : end] = np.frombuffer(row.data, np.uint8)
        self._has[row.row, row.start : end] = True
        if not self._has.all():
            return None
        pixels = self._bytes.reshape(self._height, self._width, row.bytes_per_pixel)
        return Picture(row.picture, _rgb565(pixels) if row.bytes_per_pixel == 2 else pixels)


def _rgb565(pixels: np.ndarray) -> np.ndarray:
    """Return RGB pixels of 5, 6 and 5 bits, high byte first as cameras send them, as 8 bits per color."""
    value = pixels[..., 0].astype(np.uint16) << 8 | pixels[..., 1]
    red, green, blue = value >> 11, value >> 5 & 63, value & 31
    return np.stack([red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2], -1).astype(
        np.uint8
    )


def png_of(pixels: np.ndarray) -> bytes:
    """Return uint8 ``pixels`` [height, width, 1 or 3] as a PNG file. Raises ``UsageError`` if Pillow is missing."""
    try:
        from PIL import Image
    except ImportError as error:
        raise UsageError("Storing pictures needs Pillow.", "pip install 'arenite[images]'") from error
    stream = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(stream, "PNG")
    return stream.getvalue()
