"""Compute the anchors of the detector, and convert boxes to and from the offsets that the network learns.

A box is (top, left, bottom, right) and an anchor is (center y, center x, height, width), both as fractions of the
picture. The encoding is equation 2 of Liu et al., "SSD: Single Shot MultiBox Detector", 2016. Implementations usually
divide the offsets by "variances" (0.1, 0.1, 0.2, 0.2); ``SCALES`` has their reciprocals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from arenite.models.architectures.detector import SIZES, STRIDE

#: Factors on the offsets (dy, dx, dh, dw): those of the center (y, x) and of the height and width. They are the same
#: as in TensorFlow's detection models.
SCALES = (10.0, 10.0, 5.0, 5.0)


def anchors(shape: Sequence[int]) -> np.ndarray:
    """Return the anchors for a picture of ``shape`` (height, width, ...) as an array of shape (anchors, 4). Their
    order is the order of the network's outputs: by row, then by column, then by size."""
    rows, columns = (-(-side // STRIDE) for side in shape[:2])
    y, x, size = np.meshgrid(
        (np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, SIZES, indexing="ij"
    )
    return np.stack([y, x, size, size], -1).reshape(-1, 4).astype(np.float32)


def encode(boxes: np.ndarray, anchor_boxes: np.ndarray) -> np.ndarray:
    """Return the offsets (dy, dx, dh, dw) of ``boxes`` from the anchors ``anchor_boxes``. All have the shape (...,
    4)."""
    center, size = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
    center_offsets = (center - anchor_boxes[..., :2]) / anchor_boxes[..., 2:]
    size_offsets = np.log(np.maximum(size, 1e-6) / anchor_boxes[..., 2:])
    return np.concatenate([center_offsets, size_offsets], -1) * np.array(SCALES, np.float32)


def decode(offsets: np.ndarray, anchor_boxes: np.ndarray) -> np.ndarray:
    """Return the boxes that have the offsets ``offsets`` from the anchors ``anchor_boxes``. This is the inverse of
    ``encode``."""
    values = offsets / np.array(SCALES, np.float32)
    center = values[..., :2] * anchor_boxes[..., 2:] + anchor_boxes[..., :2]
    half = np.exp(values[..., 2:]) * anchor_boxes[..., 2:] / 2
    return np.concatenate([center - half, center + half], -1)


def iou(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the intersection over union of each box of ``a`` (n, 4) with each box of ``b`` (m, 4), as an array of
    shape (n, m)."""
    top_left = np.maximum(a[:, None, :2], b[None, :, :2])
    bottom_right = np.minimum(a[:, None, 2:], b[None, :, 2:])
    intersection = np.prod(np.maximum(bottom_right - top_left, 0), -1)
    areas = [np.prod(x[:, 2:] - x[:, :2], -1) for x in (a, b)]
    union = areas[0][:, None] + areas[1][None] - intersection
    return cast(np.ndarray, intersection / np.maximum(union, 1e-12))
