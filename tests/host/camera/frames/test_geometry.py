"""Where a part of the model's input lies in the frame: known cases, and what the pixels themselves say."""

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


def spec_of(*steps: dict[str, Any]) -> Preprocessing:
    return Preprocessing.from_json({"source": {"kind": "image"}, "steps": list(steps)})


def test_a_resize_alone_changes_nothing() -> None:
    found = geometry_of(spec_of({"do": "resize", "width": 96, "height": 96}), 1280, 720)
    assert found == Geometry()


def test_letterbox() -> None:
    """128x72 pixels in the middle of 128x128."""
    found = geometry_of(spec_of({"do": "letterbox", "width": 128, "height": 128}), 1280, 720)
    assert found.to_frame(0.5, 0.5) == pytest.approx((0.5, 0.5))
    assert found.to_frame(0.0, 28 / 128) == pytest.approx((0.0, 0.0))
    assert found.to_frame(1.0, 100 / 128) == pytest.approx((1.0, 1.0))
    assert found.box(-0.1, 0.0, 0.5, 0.5) == pytest.approx((0.0, 0.0, 0.5, 0.5))


def test_a_crop_before_and_one_after() -> None:
    found = geometry_of(
        spec_of(
            {"do": "crop", "width": 720, "height": 720},
            {"do": "resize", "short_side": 256},
            {"do": "crop", "width": 224, "height": 224},
        ),
        1280,
        720,
    )
    assert found.top == pytest.approx(16 / 256) and found.height == pytest.approx(224 / 256)
    assert found.left == pytest.approx((280 + 720 * 16 / 256) / 1280)
    assert found.width == pytest.approx(720 * 224 / 256 / 1280)


def test_arrays() -> None:
    found = Geometry(0.25, -0.5, 0.5, 2.0)
    points = np.array([0.0, 0.5, 1.0])
    x, y = found.to_frame(points, points)
    assert (x == [0.25, 0.5, 0.75]).all() and (y == [-0.5, 0.5, 1.5]).all()
    left, top, right, bottom = found.box(points, points, points, points)
    assert (top == [0.0, 0.5, 1.0]).all() and (left == right).all() and (top == bottom).all()


SIZES = st.integers(24, 90)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(PAIRS)), st.booleans(), SIZES, SIZES, st.integers(8, 40), st.data())
def test_a_ramp_is_where_the_geometry_says(
    convention: str, box: bool, width: int, height: int, side: int, data: st.DataObject
) -> None:
    """A picture whose values are its own columns: an output's value is the column that it shows. Nearest neighbours
    are a pixel's width coarse, so that only their mean is looked at; so are edges."""
    method = data.draw(st.sampled_from(PAIRS[convention]))
    if convention == "opencv" and method == "area":
        side = min(side, width - 4, height - 6)
    steps = [{"do": "crop", "width": width - 4, "height": height - 6, "x": 1, "y": 2}]
    do = "letterbox" if box else "resize"
    steps.append({"do": do, "width": side, "height": side, "method": method, "convention": convention})
    spec = spec_of(*steps)
    ramp = np.broadcast_to(
        np.arange(width, dtype=np.uint8)[np.newaxis, :, np.newaxis] * 2, (height, width, 3)
    )
    made = preprocess_image(spec, ramp, "rgb")[:, :, 0].astype(np.float64) / 2 + 0.5
    found = geometry_of(spec, width, height)
    x, _ = found.to_frame((np.arange(side) + 0.5) / side, 0.5)
    scale = found.width * width / side
    margin = 2 + max(scale, 1.0)  # what a triangle reaches
    inner = (x * width > 1 + margin) & (x * width < width - 3 - margin)
    if inner.sum() < 4:
        return
    difference = made[side // 2][inner] - x[inner] * width
    if method == "nearest":
        assert abs(difference.mean()) <= 0.5 * max(scale, 1.0) / np.sqrt(inner.sum()) + 0.6
        assert np.abs(difference).max() <= max(scale, 1.0) + 0.5
    else:
        assert np.abs(difference).max() <= 0.5 + (0.5 if method == "area" else 0.0)
