"""Tests that the preprocessing decodes synthetic pictures, encoded in a pixel format, to the original pictures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.converters.processing.specification.pixel_formats import unpack
from arenite.errors import UsageError
from arenite.host.camera.sources.pixel_encoding import (
    PIXELS,
    encode_pixels,
    resize_bilinear,
    synthetic_format,
)


def decode(planes: tuple[np.ndarray, ...], pixels: str, width: int, height: int) -> np.ndarray:
    """Return the picture in ``planes``, uint8 [height, width, channels] in the order red, green, blue."""
    picture = unpack(np.concatenate([plane.reshape(-1) for plane in planes]), pixels, width, height)
    return picture[:, :, ::-1] if pixels in ("bgr", "bgra") else picture


@pytest.mark.parametrize("pixels", sorted(set(PIXELS) - {"grey"}))
@given(color=st.tuples(*[st.integers(0, 255)] * 3))
def test_a_color_is_decoded_again(pixels: str, color: tuple[int, int, int]) -> None:
    picture = np.broadcast_to(np.array(color, np.uint8), (4, 6, 3))
    decoded = decode(encode_pixels(picture, pixels), pixels, 6, 4)
    # Video range has 219 levels of luma, so red, green and blue change by at most 3 levels.
    limit = 3 if pixels in ("yuyv", "uyvy", "nv12") else 0
    assert np.abs(decoded.astype(int) - picture).max() <= limit


@given(st.integers(0, 255))
def test_grey_levels_are_stored_unchanged(level: int) -> None:
    (plane,) = encode_pixels(np.full((2, 2, 3), level, np.uint8), "grey")
    assert (plane == level).all()


def test_pairs_of_pixels_keep_their_brightness() -> None:
    picture = np.zeros((2, 4, 3), np.uint8)
    picture[:, 1::2] = 255
    for pixels in ("yuyv", "uyvy", "nv12"):
        decoded = decode(encode_pixels(picture, pixels), pixels, 4, 2)
        assert (decoded[:, 0::2] == 0).all() and (decoded[:, 1::2] == 255).all()


@pytest.mark.parametrize(
    ("pixels", "width", "height"),
    [("yuyv", 3, 2), ("nv12", 4, 3), ("hsv", 4, 4), ("rgb", 0, 4), ("grey", 9000, 4)],
)
def test_impossible_formats_raise_an_error(pixels: str, width: int, height: int) -> None:
    with pytest.raises(UsageError):
        synthetic_format(pixels, width, height, 30)


def test_enlarging_interpolates() -> None:
    flat = np.full((3, 5, 3), 77, np.uint8)
    assert (resize_bilinear(flat, 20, 11) == 77).all()
    step = np.zeros((1, 2, 3), np.uint8)
    step[0, 1] = 200
    row = resize_bilinear(step, 8, 1)[0, :, 0].astype(int)
    assert row[0] == 0 and row[-1] == 200 and (np.diff(row) >= 0).all() and 0 < row[3] < row[4] < 200
