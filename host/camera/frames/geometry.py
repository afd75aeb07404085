"""Compute the part of a frame that a model's input shows, to convert coordinates of the input to the frame.

Each crop, resize or letterbox scales and shifts each axis, so two numbers per axis describe all steps together. Resize
conventions differ: most align the corner of the first pixel with the corner of the picture. The two conventions of
TensorFlow 1, and nearest neighbor with rounding down, sample at shifted positions. The numbers include that shift.
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
    """The rectangle of the frame that the input shows, in fractions of the frame's width and height. If the input has
    margins, the rectangle extends beyond the frame, so that it begins below 0 and ends above 1."""

    left: float = 0.0
    top: float = 0.0
    width: float = 1.0
    height: float = 1.0

    def to_frame(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Convert points of the model's input to the frame, and return (x, y). ``x`` and ``y`` are numbers or arrays,
        as fractions of the input; the result has fractions of the frame and may be outside the frame."""
        return self.left + x * self.width, self.top + y * self.height

    def box(self, left: Any, top: Any, right: Any, bottom: Any) -> tuple[Any, Any, Any, Any]:
        """Convert rectangles of the input to the frame, and return (left, top, right, bottom). The arguments are
        numbers or arrays, as fractions of the input; the result has fractions of the frame and is cut at the frame's
        edges."""
        sides = (*self.to_frame(left, top), *self.to_frame(right, bottom))
        if isinstance(left, np.ndarray):
            return tuple(np.clip(side, 0.0, 1.0) for side in sides)
        return tuple(min(max(side, 0.0), 1.0) for side in sides)


class _Axis:
    """One axis. A coordinate c in the picture after the steps so far is at pixel ``offset`` + ``step`` * c of the
    frame."""

    def __init__(self) -> None:
        self.offset, self.step = 0.0, 1.0

    def move(self, by: float) -> None:
        """Move the start of the axis by ``by`` pixels of the present picture."""
        self.offset += by * self.step

    def resize(self, size: int, outputs: int, method: str, convention: str) -> None:
        """Resize from ``size`` pixels to ``outputs`` pixels."""
        step, shift = size / outputs, 0.0
        if convention == "tf-corners" and outputs > 1:
            # As below, but the first and last pixels of source and output coincide.
            step = (size - 1) / (outputs - 1)
            shift = 0.5 - step / 2
        elif convention.startswith("tf-") and method == "bilinear":
            # The centre of output pixel o is at the centre of source pixel o * step.
            shift = 0.5 - step / 2
        elif method == "nearest" and convention not in ("pil", "tf"):
            # Output pixel o has the value of source pixel floor(o * step). On average over all outputs, rounding down
            # subtracts half a pixel, and the centre of a pixel is half a pixel after its start: the sum is o * step.
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
