"""Tests of regions: square parts of a frame around a box of an answer, which another model reads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.converters.processing.specification.pixel_formats import unpack
from arenite.host.camera.answers.answer import Answer, Box
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.region import (
    MIN_SIDE,
    SIZE_STEPS,
    crop_frame,
    square_around,
    to_frame_coordinates,
)
from arenite.host.camera.sources.pixel_encoding import PIXELS
from tests.host.camera.frames.photo_frames import frame_of

FRACTIONS = st.floats(0, 1)


@given(FRACTIONS, FRACTIONS, FRACTIONS, FRACTIONS, st.floats(1, 4), st.integers(1, 400), st.integers(1, 400))
def test_a_region_lies_inside_and_is_even(
    x0: float, y0: float, x1: float, y1: float, margin: float, half_width: int, half_height: int
) -> None:
    format = Format("yuyv", 2 * half_width, 2 * half_height, (4 * half_width,))
    box = Box(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1), 1.0)
    window = square_around(box, format, margin)
    assert window.left % 2 == window.top % 2 == window.width % 2 == 0
    assert window.width == window.height
    assert 0 <= window.left <= format.width - window.width
    assert 0 <= window.top <= format.height - window.height


def test_a_region_holds_its_box_with_a_margin() -> None:
    format = Format("grey", 640, 480, (640,))
    box = Box(0.4, 0.4, 0.5, 0.55, 1.0)  # 64x72 pixels, with the center at (288, 228)
    window = square_around(box, format, 1.5)
    assert window.width >= 108
    assert window.left <= 256 < 320 <= window.left + window.width
    assert window.top <= 192 < 264 <= window.top + window.height
    assert abs(window.left + window.width / 2 - 288) <= 1


def test_the_number_of_region_sizes_is_limited() -> None:
    format = Format("grey", 1280, 720, (1280,))
    sides = {square_around(Box(0, 0, k / 1000, k / 1000, 1.0), format, 1.0).width for k in range(1, 1001)}
    assert len(sides) <= SIZE_STEPS
    assert MIN_SIDE <= min(sides) <= max(sides) == 720


@pytest.mark.parametrize("pixels", sorted(PIXELS))
def test_a_cropped_frame_has_the_same_pixels(pixels: str) -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    window = CropWindow(10, 6, 20, 16)
    frame = frame_of(rgb, pixels=pixels)
    cropped = crop_frame(frame, window)
    assert (cropped.format.width, cropped.format.height, cropped.format.pixels) == (20, 16, pixels)
    assert np.array_equal(_pixels(cropped), _pixels(frame)[6:22, 10:30])


@pytest.mark.parametrize("pixels", ["nv12", "nv21", "yu12", "yv12"])
def test_a_frame_with_all_planes_in_one_buffer_is_cropped(pixels: str) -> None:
    """V4L2 delivers all planes in one buffer, so the frame has one address and one stride."""
    memory = np.random.default_rng(1).integers(0, 256, 48 * 64 * 3 // 2, np.uint8)
    frame = Frame(Format(pixels, 64, 48, (64,)), (memory.ctypes.data,), memory, 0, 0)
    cropped = crop_frame(frame, CropWindow(12, 8, 24, 20))
    assert np.array_equal(_pixels(cropped), unpack(memory, pixels, 64, 48)[8:28, 12:36])


def _pixels(frame: Frame) -> np.ndarray:
    """Return the colors of a frame, read only through its addresses and strides."""
    import ctypes

    from arenite.converters.processing.specification.pixel_formats import planes_of

    format = frame.format
    flat = []
    for (row, rows), stride, address in zip(
        planes_of(format.pixels, format.width, format.height), format.strides, frame.planes, strict=True
    ):
        for y in range(rows):
            flat.append(np.ctypeslib.as_array((ctypes.c_uint8 * row).from_address(address + y * stride)))
    return unpack(np.concatenate(flat), format.pixels, format.width, format.height)


def test_answers_are_placed_in_the_frame() -> None:
    window = CropWindow(100, 50, 200, 100)
    answer = Answer(
        "boxes",
        boxes=(Box(0.0, 0.0, 0.5, 1.0, 0.9, points=((0.5, 0.5),)),),
        points=((1.0, 1.0, 0.7),),
    )
    placed = to_frame_coordinates(answer, window, 400, 200)
    box = placed.boxes[0]
    assert (box.left, box.top, box.right, box.bottom) == (0.25, 0.25, 0.5, 0.75)
    assert box.points == ((0.5, 0.5),)
    assert placed.points == ((0.75, 0.75, 0.7),)
    assert placed.mask_box == (0.25, 0.25, 0.75, 0.75)
