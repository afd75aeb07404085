"""Tests of ``Geometry``, which maps places of the model's input to places of the frame: known cases, and a comparison
with preprocessed pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.specification.image_steps import PAIRS
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.host.camera.frames.geometry import Geometry, geometry_of
from tests.example_count import example_count


def spec_of(*steps: dict[str, Any]) -> Preprocessing:
    """Return the preprocessing of a picture with the given steps."""
    return Preprocessing.from_json({"source": {"kind": "image"}, "steps": list(steps)})


def test_a_resize_alone_has_the_identity_geometry() -> None:
    geometry = geometry_of(spec_of({"do": "resize", "width": 96, "height": 96}), 1280, 720)
    assert geometry == Geometry()


def test_the_bars_of_a_letterbox_lie_outside_of_the_frame() -> None:
    """A frame of 1280x720 fills 128x72 pixels in the middle of 128x128."""
    geometry = geometry_of(spec_of({"do": "letterbox", "width": 128, "height": 128}), 1280, 720)
    assert geometry.to_frame(0.5, 0.5) == pytest.approx((0.5, 0.5))
    assert geometry.to_frame(0.0, 28 / 128) == pytest.approx((0.0, 0.0))
    assert geometry.to_frame(1.0, 100 / 128) == pytest.approx((1.0, 1.0))
    assert geometry.box(-0.1, 0.0, 0.5, 0.5) == pytest.approx((0.0, 0.0, 0.5, 0.5))


def test_crops_before_and_after_a_resize() -> None:
    geometry = geometry_of(
        spec_of(
            {"do": "crop", "width": 720, "height": 720},
            {"do": "resize", "short_side": 256},
            {"do": "crop", "width": 224, "height": 224},
        ),
        1280,
        720,
    )
    assert geometry.top == pytest.approx(16 / 256) and geometry.height == pytest.approx(224 / 256)
    assert geometry.left == pytest.approx((280 + 720 * 16 / 256) / 1280)
    assert geometry.width == pytest.approx(720 * 224 / 256 / 1280)


def test_arrays_of_points_and_boxes_are_mapped() -> None:
    geometry = Geometry(0.25, -0.5, 0.5, 2.0)
    points = np.array([0.0, 0.5, 1.0])
    x, y = geometry.to_frame(points, points)
    assert (x == [0.25, 0.5, 0.75]).all() and (y == [-0.5, 0.5, 1.5]).all()
    left, top, right, bottom = geometry.box(points, points, points, points)
    assert (top == [0.0, 0.5, 1.0]).all() and (left == right).all() and (top == bottom).all()


SIZES = st.integers(24, 90)


@settings(max_examples=example_count(150), deadline=None)
@given(st.sampled_from(sorted(PAIRS)), st.booleans(), SIZES, SIZES, st.integers(8, 40), st.data())
def test_the_geometry_agrees_with_preprocessed_pixels(
    convention: str, letterbox: bool, width: int, height: int, side: int, data: st.DataObject
) -> None:
    """Each pixel of the picture has its column number as value (doubled), so the value of an output pixel says which
    column it shows. With the method "nearest", the error is up to a pixel, so the mean error is tested too. Output
    pixels near the edges are ignored."""
    method = data.draw(st.sampled_from(PAIRS[convention]))
    if convention == "opencv" and method == "area":
        side = min(side, width - 4, height - 6)
    steps = [{"do": "crop", "width": width - 4, "height": height - 6, "x": 1, "y": 2}]
    do = "letterbox" if letterbox else "resize"
    steps.append({"do": do, "width": side, "height": side, "method": method, "convention": convention})
    spec = spec_of(*steps)
    ramp = np.broadcast_to(
        np.arange(width, dtype=np.uint8)[np.newaxis, :, np.newaxis] * 2, (height, width, 3)
    )
    columns = preprocess_image(spec, ramp, "rgb")[:, :, 0].astype(np.float64) / 2 + 0.5
    geometry = geometry_of(spec, width, height)
    x, _ = geometry.to_frame((np.arange(side) + 0.5) / side, 0.5)
    scale = geometry.width * width / side
    margin = 2 + max(scale, 1.0)  # half the width of a triangle filter
    inner = (x * width > 1 + margin) & (x * width < width - 3 - margin)
    if inner.sum() < 4:  # too few output pixels for a comparison
        return
    error_columns = columns[side // 2][inner] - x[inner] * width
    if method == "nearest":
        assert abs(error_columns.mean()) <= 0.5 * max(scale, 1.0) / np.sqrt(inner.sum()) + 0.6
        assert np.abs(error_columns).max() <= max(scale, 1.0) + 0.5
    else:
        assert np.abs(error_columns).max() <= 0.5 + (0.5 if method == "area" else 0.0)
