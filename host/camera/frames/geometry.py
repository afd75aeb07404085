"""The part of a frame that a model's input shows, to convert coordinates of the input to the frame.

Crops, resizes and letterboxes scale and shift each axis, so that two numbers per axis describe them all. Resize
conventions differ: most align the corner of the first pixel with the corner of the picture, but the two of
TensorFlow 1, and nearest neighbour with rounding down, sample at shifted positions, and that shift is included.
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
    """The rectangle that the input shows, in fractions of the frame. With margins it reaches beyond the frame: below 0
    and above 1."""

    left: float = 0.0
    top: float = 0.0
    width: float = 1.0
    height: float = 1.0

    def to_frame(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return a point of the model's input, or arrays of points, as fractions of the frame; it may be outside the
        frame."""
        return self.left + x * self.width, self.top + y * self.height

    def box(self, left: Any, top: Any, right: Any, bottom: Any) -> tuple[Any, Any, Any, Any]:
        """Return a rectangle of the input, or arrays of their sides, as fractions of the frame and cut at its edges."""
        sides = (*self.to_frame(left, top), *self.to_frame(right, bottom))
        if isinstance(left, np.ndarray):
            return tuple(np.clip(side, 0.0, 1.0) for side in sides)
        return tuple(min(max(side, 0.0), 1.0) for side in sides)


class _Axis:
    """One axis: pixel coordinates of the frame are ``offset`` + ``step`` * coordinate of the picture so far."""

    def __init__(self) -> None:
        self.offset, self.step = 0.0, 1.0

    def move(self, by: float) -> None:
        self.offset += by * self.step

    def resize(self, size: int, outputs: int, method: str, convention: str) -> None:
        step, moved = size / outputs, 0.0
        if convention == "tf-corners" and outputs > 1:
            # Output o samples source pixel o * step, centre to centre.
            step = (size - 1) / (outputs - 1)
            moved = 0.5 - step / 2
        elif convention.startswith("tf-") and method == "bilinear":
            moved = 0.5 - step / 2
        elif method == "nearest" and convention not in ("pil", "tf"):
            # Rounding down picks a pixel whose centre is, on average over all outputs, half a pixel further: at o *
            # step.
            moved = -step / 2
        self.move(moved)
        self.step *= step


def geometry_of(spec: Preprocessing, width: int, height: int) -> Geometry:
    """Return the geometry of ``spec`` for frames of ``width`` x ``height`` pixels. Raises ``UsageError`` for steps that
    such frames do not allow."""
    across, down = _Axis(), _Axis()
    size = (width, height)
    for step in spec.steps:
        if isinstance(step, Crop):
            x, y, *cut = crop_box(step, *size)
            across.move(x)
            down.move(y)
            size = (cut[0], cut[1])
        elif isinstance(step, (Resize, Letterbox)):
            x = y = 0
            if isinstance(step, Letterbox):
                x, y, *inner = letterbox_box(step, *size)
                new_size, after = (inner[0], inner[1]), (step.width, step.height)
            else:
                new_size = after = resized_size(step, *size)
            for side, old, new, place in zip((across, down), size, new_size, (x, y), strict=True):
                side.resize(old, new, step.method, step.convention)
                side.move(-place)
            size = after
    return Geometry(
        across.offset / width,
        down.offset / height,
        across.step * size[0] / width,
        down.step * size[1] / height,
    )
