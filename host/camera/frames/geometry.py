"""Compute the part of a frame that a model's input shows, to convert coordinates of the input to the frame.

Crops, resizes and letterboxes scale and shift each axis, so that two numbers per axis describe all of them. Resize
conventions differ: most align the corner of the first pixel with the corner of the picture. The two conventions of
TensorFlow 1, and nearest neighbor with rounding down, sample at shifted positions. That shift is included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.processing.image.reference import crop_box, letterbox_box, resized_size
from arenite.converters.processing.specification.image_steps import Crop, Letterbox, Resize
from arenite.converters.processing.specification.preprocessing import Preprocessing


@dataclass(frozen=True, slots=True)
class Geometry:
    """The rectangle that the input shows, in fractions of the frame. With margins it extends beyond the frame, so
    below 0 and above 1."""

    left: float = 0.0
    top: float = 0.0
    width: float = 1.0
    height: float = 1.0

    def to_frame(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Convert a point of the model's input, or arrays of points, to fractions of the frame. The result may be
        outside the frame."""
        return self.left + x * self.width, self.top + y * self.height

    def box(self, left: Any, top: Any, right: Any, bottom: Any) -> tuple[Any, Any, Any, Any]:
        """Convert a rectangle of the input, or arrays of the sides of rectangles, to fractions of the frame. The result
        is cut at the frame's edges."""
        sides = (*self.to_frame(left, top), *self.to_frame(right, bottom))
        if isinstance(left, np.ndarray):
            return tuple(np.clip(side, 0.0, 1.0) for side in sides)
        return tuple(min(max(side, 0.0), 1.0) for side in sides)


class _Axis:
    """One axis. Its pixel coordinates in the frame are ``offset`` + ``step`` * coordinate after the steps so far."""

    def __init__(self) -> None:
        self.offset, self.step = 0.0, 1.0

    def move(self, by: float) -> None:
        self.offset += by * self.step

    def resize(self, size: int, outputs: int, method: str, convention: str) -> None:
        step, shift = size / outputs, 0.0
        if convention == "tf-corners" and outputs > 1:
            # Output o samples source pixel o * step, centre to centre.
            step = (size - 1) / (outputs - 1)
            shift = 0.5 - step / 2
        elif convention.startswith("tf-") and method == "bilinear":
            shift = 0.5 - step / 2
        elif method == "nearest" and convention not in ("pil", "tf"):
            # Rounding down picks the pixel at o * step. On average over all outputs its centre is half a pixel
            # further.
            shift = -step / 2
        self.move(shift)
        self.step *= step


def geometry_of(spec: Preprocessing, width: int, height: int) -> Geometry:
    """Return the geometry of ``spec`` for frames of ``width`` x ``height`` pixels. Raises ``UsageError`` if the steps
    are not possible with such frames."""
    across, down = _Axis(), _Axis()
    size = (width, height)
    for step in spec.steps:
        if isinstance(step, Crop):
            x, y, *cropped = crop_box(step, *size)
            across.move(x)
            down.move(y)
            size = (cropped[0], cropped[1])
        elif isinstance(step, (Resize, Letterbox)):
            x = y = 0
            if isinstance(step, Letterbox):
                x, y, *inner = letterbox_box(step, *size)
                new_size, after = (inner[0], inner[1]), (step.width, step.height)
            else:
                new_size = after = resized_size(step, *size)
            for axis, old, new, offset in zip((across, down), size, new_size, (x, y), strict=True):
                axis.resize(old, new, step.method, step.convention)
                axis.move(-offset)
            size = after
    return Geometry(
        across.offset / width,
        down.offset / height,
        across.step * size[0] / width,
        down.step * size[1] / height,
    )
