"""Generate pictures with a moving square, which need no camera and no file."""

from __future__ import annotations

import math

import numpy as np

from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.pixel_encoding import encode_pixels, synthetic_format

#: The number of pictures, which are drawn once and repeated. Each picture has its own memory, like a camera's buffers.
PICTURES = 8
#: This number of neighboring rows of the gradient are equal, so that fewer rows must be encoded before the first
#: picture. It must be even.
_STEP = 8


class SyntheticPattern:
    """A ``FrameGenerator`` of a fixed color gradient, on which a bright square makes one round in ``pictures``
    pictures.

    ``open`` draws the first picture. The other pictures are drawn when they are first requested.
    """

    name = "synthetic"

    def __init__(
        self,
        pixels: str = "yuyv",
        width: int = 1280,
        height: int = 720,
        fps: float = 30.0,
        pictures: int = PICTURES,
    ) -> None:
        self._format = synthetic_format(pixels, width, height, fps)
        self._base: tuple[np.ndarray, ...] = ()
        self._square: tuple[np.ndarray, ...] = ()
        self._pictures: list[tuple[np.ndarray, ...] | None] = [None] * max(pictures, 1)

    def open(self) -> Format:
        if not self._base:
            wide, high = self._format.width, self._format.height
            x = (np.arange(wide, dtype=np.uint32) * 255 // wide).astype(np.uint16)
            y = (np.arange(0, high, _STEP, dtype=np.uint32) * 255 // high).astype(np.uint16)
            # Draw two rows of each step (group of equal rows), because two rows share chroma in some formats.
            steps, y = len(y), y.repeat(2)[:, None]
            rgb = np.empty((2 * steps, wide, 3), np.uint8)
            rgb[:, :, 0], rgb[:, :, 1], rgb[:, :, 2] = x, y, (255 - x + y) // 2
            self._base = tuple(
                plane.reshape(steps, -1, plane.shape[1])
                .repeat(_STEP // 2, axis=0)
                .reshape(-1, plane.shape[1])[: high >> k]
                for k, plane in enumerate(encode_pixels(rgb, self._format.pixels))
            )
            side = self._side()
            square = np.full((side, side, 3), 235, np.uint8)
            square[side // 4 : -side // 4, side // 4 : -side // 4] = (200, 30, 30)
            self._square = encode_pixels(square, self._format.pixels)
            self.picture(0)
        return self._format

    def picture(self, number: int) -> tuple[tuple[int, ...], object]:
        slot = number % len(self._pictures)
        planes = self._pictures[slot]
        if planes is None:
            planes = self._pictures[slot] = self._draw(slot)
        return tuple(plane.ctypes.data for plane in planes), planes

    def close(self) -> None:
        """Do nothing, because frames may still be read."""

    def _side(self) -> int:
        return max(min(self._format.width, self._format.height) // 4 // 2 * 2, 2)

    def _draw(self, slot: int) -> tuple[np.ndarray, ...]:
        """Return the planes of picture ``slot``: the gradient with the square at its position on an ellipse. Positions
        are even, because pairs of pixels share their chroma."""
        f, side = self._format, self._side()
        angle = 2 * math.pi * slot / len(self._pictures)
        left = int((f.width - side) * (1 + math.cos(angle)) / 2) // 2 * 2
        top = int((f.height - side) * (1 + math.sin(angle)) / 2) // 2 * 2
        planes = tuple(plane.copy() for plane in self._base)
        for k, (plane, square) in enumerate(zip(planes, self._square, strict=True)):
            row, first = top >> k, left * (f.strides[k] // f.width)
            plane[row : row + square.shape[0], first : first + square.shape[1]] = square
        return planes
