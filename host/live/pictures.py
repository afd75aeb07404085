"""Put the rows of a camera together to pictures."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np

from arenite.converters.processing.specification.pixel_formats import PIXEL_BYTES, color_order, unpack
from arenite.errors import UsageError
from arenite.host.live.messages import Row


@dataclass(frozen=True)
class Picture:
    """A complete picture: uint8 ``pixels`` [height, width, 1 (gray) or 3 (red, green, blue)]."""

    number: int
    pixels: np.ndarray


class PictureAssembler:
    """Collects the rows of one picture after the other. A picture with a missing row is dropped, and its number added
    to ``incomplete``."""

    def __init__(self, width: int, height: int) -> None:
        self.incomplete: list[int] = []
        self._width, self._height = width, height
        self._number: int | None = None
        self._bytes = np.zeros((0, 0), np.uint8)
        self._has = np.zeros((0, 0), bool)

    def add(self, row: Row) -> Picture | None:
        """Add a part of a row, and return the picture that it completes, or None."""
        if row.picture != self._number:
            if self._number is not None and not self._has.all():
                self.incomplete.append(self._number)
            self._number = row.picture
            self._bytes = np.zeros((self._height, self._width * PIXEL_BYTES[row.format]), np.uint8)
            self._has = np.zeros(self._bytes.shape, bool)
        end = row.start + len(row.data)
        if row.row >= self._height or end > self._bytes.shape[1] or self._has.all():
            return None
        self._bytes[row.row, row.start : end] = np.frombuffer(row.data, np.uint8)
        self._has[row.row, row.start : end] = True
        if not self._has.all():
            return None
        pixels = unpack(self._bytes, row.format, self._width, self._height)
        return Picture(row.picture, pixels[..., ::-1] if color_order(row.format) == "bgr" else pixels)


def png_of(pixels: np.ndarray) -> bytes:
    """Return uint8 ``pixels`` [height, width, 1 or 3] as a PNG file. Raises ``UsageError`` if Pillow is missing."""
    try:
        from PIL import Image
    except ImportError as error:
        raise UsageError("Storing pictures needs Pillow.", "pip install 'arenite[images]'") from error
    stream = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(stream, "PNG")
    return stream.getvalue()
