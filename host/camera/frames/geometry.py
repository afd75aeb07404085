"""Which part of a frame a model's input shows: answers in parts of the input become parts of the frame.

Crops, resizes and letterboxes stretch and move each axis, so that two numbers per axis say it all. Conventions that put
the corner of the first pixel on the corner of the picture do; TensorFlow 1's two, and nearest neighbours that are cut
down, sample elsewhere, and what they move is taken into account.
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
    """``left``, ``top``: where in the frame the model's input begins, ``width``, ``height``: how much of it the input
    covers, all in parts of the frame. With margins the input reaches beyond the frame: below 0 and above 1."""

    left: float = 0.0
    top: float = 0.0
    width: float = 1.0
    height: float = 1.0

    def to_frame(self, x: Any, y: Any) -> tuple[Any, Any]:
        """A point in parts of the model's input, or arrays of them, in parts of the frame; may lie outside it."""
        return self.left + x * self.width, self.top + y * self.height

    def box(self, left: Any, top: Any, right: Any, bottom: Any) -> tuple[Any, Any, Any, Any]:
        """A rectangle, or arrays of rectangles' sides, in parts of the input as what the frame has of it."""
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
            # Output o is taken at source pixel o * step: middle to middle.
            step = (size - 1) / (outputs - 1)
            moved = 0.5 - step / 2
        elif convention.startswith("tf-") and method == "bilinear":
            moved = 0.5 - step / 2
        elif method == "nearest" and convention not in ("pil", "tf"):
            # Cut down to a pixel whose middle lies, over all outputs, half a pixel on: at o * step.
            moved = -step / 2
        self.move(moved)
        self.step *= step


def geometry_of(spec: Preprocessing, width: int, height: int) -> Geometry:
    """For frames of ``width`` x ``height`` pixels. Raises ``UsageError`` for steps that they do not allow."""
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
