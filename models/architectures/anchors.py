"""Anchors of the detector, and boxes in the form that the network learns: offsets from the anchor.

A box is (top, left, bottom, right) as shares of the picture. An anchor is (middle y, middle x, height, width). The
encoding is that of Liu et al., "SSD: Single Shot MultiBox Detector", 2016, equation 2, with the usual variances, as
factors on the offsets, ``SCALES``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.models.architectures.detector import SIZES, STRIDE

#: Factors on (dy, dx, dh, dw), as in TensorFlow's detection models.
SCALES = (10.0, 10.0, 5.0, 5.0)


def anchors(shape: Sequence[int]) -> np.ndarray:
    """(anchors, 4) for a picture of ``shape``, in the order of the network's outputs: rows, columns, sizes."""
    rows, columns = (-(-side // STRIDE) for side in shape[:2])
    y, x, size = np.meshgrid(
        (np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, SIZES, indexing="ij"
    )
    return np.stack([y, x, size, size], -1).reshape(-1, 4).astype(np.float32)


def encode(boxes: np.ndarray, around: np.ndarray) -> np.ndarray:
    """Offsets of ``boxes`` from the anchors ``around``, both (..., 4)."""
    middle, size = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
    moved = (middle - around[..., :2]) / around[..., 2:]
    grown = np.log(np.maximum(size, 1e-6) / around[..., 2:])
    return np.concatenate([moved, grown], -1) * np.array(SCALES, np.float32)


def decode(offsets: np.ndarray, around: np.ndarray) -> np.ndarray:
    """The boxes of ``offsets``: the inverse of ``encode``."""
    values = offsets / np.array(SCALES, np.float32)
    middle = values[..., :2] * around[..., 2:] + around[..., :2]
    half = np.exp(values[..., 2:]) * around[..., 2:] / 2
    return np.concatenate([middle - half, middle + half], -1)


def overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Intersection over union of each of ``a`` (n, 4) with each of ``b`` (m, 4): (n, m)."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.prod(np.maximum(high - low, 0), -1)
    area = [np.prod(x[:, 2:] - x[:, :2], -1) for x in (a, b)]
    value: np.ndarray = shared / np.maximum(area[0][:, None] + area[1][None] - shared, 1e-12)
    return value
