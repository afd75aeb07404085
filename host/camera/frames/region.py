"""Use a region of a frame as a separate frame, without a copy, and convert answers about it to the whole frame.

A preprocessor depends on the size of a region and not on its position. There are only a few different sizes of regions,
so that a region that follows an object rarely needs a new preprocessor.
"""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.processing.specification.pixel_formats import PIXEL_BYTES, PLANES
from arenite.host.camera.answers.answer import Answer, Box
from arenite.host.camera.frames.frame import CropWindow, Format, Frame

#: The side of a region is a multiple of the frame's shorter side divided by this number.
SIZE_STEPS = 12
#: The shortest side of a region, in pixels.
MIN_SIDE = 32


def square_around(box: Box, format: Format, margin: float) -> CropWindow:
    """Return a square around the centre of ``box``, moved inside the frame.

    Its side is ``margin`` times the longer side of ``box``, rounded up to one of the few sizes, but at most the frame's
    shorter side. The side and the coordinates of the corner are even, because pairs of pixels share their chroma.
    """
    width, height = format.width, format.height
    short = min(width, height)
    target = max((box.right - box.left) * width, (box.bottom - box.top) * height) * margin
    parts = min(SIZE_STEPS, max(1, -int(-target * SIZE_STEPS // short)))
    side = min(max(short * parts // SIZE_STEPS, MIN_SIDE), short)
    side -= side % 2 if side > 1 else 0

    def corner(middle: float, size: int) -> int:
        first = min(max(round(middle * size - side / 2), 0), size - side)
        return first - first % 2

    return CropWindow(
        corner((box.left + box.right) / 2, width), corner((box.top + box.bottom) / 2, height), side, side
    )


def crop_frame(frame: Frame, window: CropWindow) -> Frame:
    """Return the part ``window`` of ``frame`` as a frame, without a copy. It is valid until the caller releases
    ``frame``. The coordinates and sides of ``window`` must be even."""
    format = frame.format
    strides, planes = format.strides, frame.planes
    left, top = window.left, window.top
    if format.pixels in PLANES:
        count = PLANES[format.pixels]
        if len(strides) == 1:
            strides += (strides[0] // (count - 1),) * (count - 1)
        if len(planes) == 1:
            # All planes are in one buffer, one after the other.
            second = planes[0] + format.height * strides[0]
            planes = (planes[0], second, second + format.height // 2 * strides[1])[:count]
        across = left if count == 2 else left // 2
        planes = (
            planes[0] + top * strides[0] + left,
            *(plane + top // 2 * strides[1] + across for plane in planes[1:]),
        )
    else:
        planes = (planes[0] + top * strides[0] + left * PIXEL_BYTES[format.pixels],)
    return Frame(
        Format(format.pixels, window.width, window.height, strides, format.fps),
        planes,
        frame,
        frame.sequence,
        frame.time_ns,
        source=frame.source,
        missed=frame.missed,
    )


def to_frame_coordinates(answer: Answer, window: CropWindow, width: int, height: int) -> Answer:
    """Return ``answer``, whose coordinates are fractions of ``window``, with fractions of the whole frame. The frame
    has ``width`` x ``height`` pixels."""
    x0, y0 = window.left / width, window.top / height
    across, down = window.width / width, window.height / height

    def to_frame(x: float, y: float) -> tuple[float, float]:
        return x0 + x * across, y0 + y * down

    def box_to_frame(sides: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
        return (*to_frame(sides[0], sides[1]), *to_frame(sides[2], sides[3]))

    boxes = []
    for box in answer.boxes:
        left, top, right, bottom = box_to_frame((box.left, box.top, box.right, box.bottom))
        points = tuple(to_frame(x, y) for x, y in box.points)
        boxes.append(replace(box, left=left, top=top, right=right, bottom=bottom, points=points))
    return replace(
        answer,
        boxes=tuple(boxes),
        points=tuple((*to_frame(x, y), score) for x, y, score in answer.points),
        mask_box=box_to_frame(answer.mask_box),
    )
