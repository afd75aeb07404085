"""Tests of ``luma_grid``, which computes the brightness of a frame on a coarse grid."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.processing.specification.pixel_formats import PIXEL_BYTES, PLANES
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.luma import _LAYOUTS, luma_grid
from arenite.host.camera.sources.pixel_encoding import PIXELS
from tests.host.camera.frames.photo_frames import frame_of, grey_frame, photograph


@pytest.mark.parametrize("pixels", sorted(set(PIXELS) & set(_LAYOUTS)))
def test_every_format_gives_the_brightness(pixels: str) -> None:
    rgb = photograph(0)
    grey = rgb.astype(np.float64) @ (0.299, 0.587, 0.114)
    # The brightness of an RGB format is its green channel.
    if pixels in ("rgb", "bgr", "rgba", "bgra", "rgb565"):
        grey = rgb[:, :, 1].astype(np.float64)
    elif pixels != "grey":
        grey = 16 + grey * 219 / 255  # luma in video range: 16 to 235
    # Each cell has 10x10 pixels. Its brightness is the mean of four neighbors in its middle.
    expected = np.array(
        [[grey[5 + 10 * r, 3 + 10 * c : 7 + 10 * c].mean() for c in range(64)] for r in range(36)]
    )
    grid = luma_grid(frame_of(rgb, pixels=pixels))
    assert grid.shape == (36, 64)
    assert np.abs(grid - expected).max() <= (4.0 if pixels == "rgb565" else 1.5)


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (16, 16), (97, 61), (640, 480)])
def test_frames_of_any_size_have_a_grid(size: tuple[int, int]) -> None:
    width, height = size
    values = np.random.default_rng(0).integers(0, 256, (height, width), np.uint8)
    grid = luma_grid(grey_frame(values))
    assert grid.shape == (min(36, height), max(1, min(64, width // 4)))
    assert values.min() <= grid.min() <= grid.max() <= values.max()


def test_every_format_that_preprocessing_knows_has_a_brightness() -> None:
    assert set(_LAYOUTS) == {*PIXEL_BYTES, *PLANES}


@pytest.mark.parametrize(("pixels", "order"), [("rgb565", "<u2"), ("rgb565be", ">u2")])
def test_the_brightness_of_16_bit_formats_is_their_green_channel(pixels: str, order: str) -> None:
    green = np.random.default_rng(1).integers(0, 64, (72, 128)).astype(np.uint16)
    # Red, 6 bits of green, blue.
    words = np.ascontiguousarray((0b10101 << 11) | (green << 5) | 0b01010, order)
    frame = Frame(Format(pixels, 128, 72, (256,)), (words.ctypes.data,), words, 0, 0)
    expected = np.stack([green[1::2, 4 * c : 4 * c + 4].mean(axis=1) * 4 for c in range(32)], axis=1)
    assert np.array_equal(luma_grid(frame), expected.astype(np.float32))
