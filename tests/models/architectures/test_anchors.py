"""Tests of the detector's anchors: their positions, and encoding and decoding of boxes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arenite.models.architectures.anchors import anchors, decode, encode, iou
from arenite.models.architectures.detector import SIZES

#: Random coordinates or sizes, as fractions of the picture.
_FRACTIONS = st.floats(0.01, 0.99)


def test_anchors_are_ordered_by_row_column_and_size() -> None:
    boxes = anchors((16, 24, 3))
    assert boxes.shape == (2 * 3 * len(SIZES), 4)
    assert np.allclose(boxes[0], (1 / 4, 1 / 6, SIZES[0], SIZES[0]))
    assert np.allclose(boxes[1], (1 / 4, 1 / 6, SIZES[1], SIZES[1]))
    assert np.allclose(boxes[2, :2], (1 / 4, 3 / 6))
    assert np.allclose(boxes[-1, :2], (3 / 4, 5 / 6))


@given(st.tuples(*[_FRACTIONS] * 4), st.tuples(*[_FRACTIONS] * 4))
def test_decoding_is_the_inverse_of_encoding(box: tuple[float, ...], anchor: tuple[float, ...]) -> None:
    # ``box`` is (top, left, height, width). ``encode`` takes and ``decode`` returns corners (top, left, bottom, right).
    corners = np.array([box[0], box[1], box[0] + box[2], box[1] + box[3]])
    assert np.allclose(decode(encode(corners, np.array(anchor)), np.array(anchor)), corners, atol=1e-4)


def test_iou_equals_the_intersection_over_union_of_pixels() -> None:
    rng = np.random.default_rng(0)
    low = rng.integers(0, 12, (20, 2))
    boxes = np.concatenate([low, low + rng.integers(1, 12, (20, 2))], 1)
    masks = np.zeros((20, 24, 24), bool)
    for mask, (top, left, bottom, right) in zip(masks, boxes, strict=True):
        mask[top:bottom, left:right] = True
    expected = [[(m & n).sum() / (m | n).sum() for n in masks] for m in masks]
    assert np.allclose(iou(boxes.astype(float), boxes.astype(float)), expected)
