"""Combine the preprocessing steps of a picture into one pass: resize a window of the source along both axes, place the
result on a canvas and map its values.

Crops before the resize move the window, and crops after the resize shorten the axes, so that only pixels that the model
uses are computed. The C code runs this plan row by row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.processing.image.reference import crop_box, letterbox_box, resized_size
from arenite.converters.processing.image.resample import Axis, axis, identity, resample_kind
from arenite.converters.processing.specification import input_values, pixel_formats
from arenite.converters.processing.specification.image_steps import (
    Colour,
    Crop,
    ImageSource,
    Letterbox,
    Resize,
)
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.processing.specification.record_fields import record_error


@dataclass(frozen=True)
class ImagePlan:
    """The plan of a picture. While resizing, the colors are in the order ``working``: rgb, bgr or grey. ``late_grey``
    converts to grey after the resize. The result has ``channels`` channels."""

    format: str
    width: int  # width of the source in pixels
    height: int  # height of the source in pixels
    window: tuple[int, int]  # (x, y) of the source pixel that is position 0 of the axes
    across: Axis  # along rows
    down: Axis  # along columns
    flavour: str  # how resized values are rounded, see ``resample_kind``
    ties_to_even: bool  # how ties are rounded, see ``resample_kind``
    working: str
    grey: tuple[int, int, int, int]  # weights and bits, see ``pixel_formats.GREY``
    late_grey: bool
    channels: int
    canvas: tuple[int, int]  # width, height
    left: int  # position of the picture on the canvas
    top: int
    fill: tuple[int, ...]  # the color around the picture, one value per working channel
    dtype: str
    table: np.ndarray | None  # the result for each byte: [1 or channels, 256]; None for fractions
    affine: input_values.Affine | None  # the map from fractions to the result; None for bytes

    @property
    def working_channels(self) -> int:
        return 1 if self.working == "grey" else 3


class _PictureGeometry:
    """The size, position and colors of the picture after each step."""

    def __init__(self, width: int, height: int, order: str) -> None:
        self.window = [0, 0]
        self.size = (width, height)  # size of the canvas
        self.place = [0, 0]  # position of the picture on the canvas
        self.across: Axis | None = None
        self.down: Axis | None = None
        self.flavour, self.even = "bytes", False
        self.order = order  # order of the colors after the current step
        self.working = order  # order of the colors while resizing
        self.grey, self.late_grey = "pil", False
        self.fill: tuple[int, ...] = (0,)

    def colour(self, step: Colour) -> None:
        """Change the order of the colors. After the resize, a conversion to grey sets ``late_grey``."""
        if step.to == self.order:
            return
        if step.to == "grey":
            self.grey = step.convention
            if self.across is None:
                self.working = "grey"
            elif self.working != "grey":
                if self.flavour == "fraction":
                    raise record_error(
                        "A colour step to grey must come before a resize that keeps fractions (tf, torch)."
                    )
                self.late_grey = True
        elif self.order != "grey" and self.working != "grey" and not self.late_grey:
            self.working = step.to
            self.fill = self.fill[::-1]
        self.order = step.to

    def resize(self, width: int, height: int, step: Resize | Letterbox) -> None:
        if self.across is not None:
            raise record_error("A picture can be resized only once.")
        w, h = self.size
        self.across = axis(w, width, step.method, step.convention)
        self.down = axis(h, height, step.method, step.convention, down=True)
        self.flavour = resample_kind(step.method, step.convention)
        self.even = (w, h) != (2 * width, 2 * height)
        self.size = (width, height)

    def crop(self, x: int, y: int, width: int, height: int) -> None:
        if self.across is None or self.down is None:
            self.window = [self.window[0] + x, self.window[1] + y]
        else:
            self.across, self.place[0] = _cut(self.across, self.place[0] - x, width)
            self.down, self.place[1] = _cut(self.down, self.place[1] - y, height)
        self.size = (width, height)


def _cut(side: Axis, position: int, size: int) -> tuple[Axis, int]:
    """Cut an axis whose first output is at ``position`` to the outputs in [0, size). Return the shorter axis, and the
    position of its first output."""
    first = min(max(-position, 0), side.outputs)
    last = max(min(size - position, side.outputs), first)
    return side.part(first, last - first), max(position, 0) if last > first else 0


def plan_image(spec: Preprocessing, format: str, width: int, height: int) -> ImagePlan:
    """Return the plan for a buffer of ``format``. Raises ``UsageError`` if the steps do not fit such a picture."""
    geometry = _PictureGeometry(width, height, pixel_formats.color_order(format))
    for step in spec.steps:
        if isinstance(step, Colour):
            geometry.colour(step)
        elif isinstance(step, Crop):
            geometry.crop(*crop_box(step, *geometry.size))
        elif isinstance(step, Resize):
            geometry.resize(*resized_size(step, *geometry.size), step)
        elif isinstance(step, Letterbox):
            _letterbox(geometry, step)
    if geometry.across is None or geometry.down is None:
        geometry.across, geometry.down = identity(geometry.size[0]), identity(geometry.size[1])
    channels = 1 if geometry.order == "grey" else 3
    working = 1 if geometry.working == "grey" else 3
    fraction = geometry.flavour == "fraction"
    return ImagePlan(
        format=format,
        width=width,
        height=height,
        window=(geometry.window[0], geometry.window[1]),
        across=geometry.across,
        down=geometry.down,
        flavour=geometry.flavour,
        ties_to_even=geometry.even,
        working=geometry.working,
        grey=pixel_formats.GREY[geometry.grey],
        late_grey=geometry.late_grey,
        channels=channels,
        canvas=geometry.size,
        left=geometry.place[0],
        top=geometry.place[1],
        fill=(geometry.fill * working)[:working],
        dtype=input_values.result_type(spec),
        table=None if fraction else input_values.tables(spec, channels),
        affine=input_values.affine(spec, channels) if fraction else None,
    )


def _letterbox(geometry: _PictureGeometry, step: Letterbox) -> None:
    x, y, w, h = letterbox_box(step, *geometry.size)
    geometry.resize(w, h, step)
    channels = 1 if geometry.order == "grey" else 3
    if len(step.fill) not in (1, channels):
        raise record_error(
            f"Letterbox: fill has {len(step.fill)} values, but there are {channels} channels at this point."
        )
    if geometry.working == "grey" and len(set(step.fill)) > 1:
        raise record_error(
            "Letterbox: fill is a color, but the picture is grey on all channels at this point."
        )
    geometry.place, geometry.size, geometry.fill = [x, y], (step.width, step.height), step.fill


def source_plan(spec: Preprocessing, channels: int, width: int, height: int) -> ImagePlan:
    """Return the plan for the source of ``spec``. If the source has no size, it has the size of the model's input.

    Args:
        channels: the channels of the model's input, 3 or 1.
        width: the width of the model's input.
        height: the height of the model's input.

    Raises:
        UsageError: the result does not fit the model's input.
    """
    source = spec.source
    assert isinstance(source, ImageSource)
    image_plan = plan_image(spec, source.format, source.width or width, source.height or height)
    if (*image_plan.canvas, image_plan.channels) != (width, height, channels):
        shape = "x".join(map(str, (image_plan.canvas[1], image_plan.canvas[0], image_plan.channels)))
        raise record_error(
            f"Preprocessing gives {shape} values, but the model's input is {height}x{width}x{channels}."
        )
    return image_plan
