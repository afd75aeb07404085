"""A small single-shot detector: depthwise-separable blocks to 1/8 of the resolution, and two heads over one grid.

Each cell of the grid has ``len(SIZES)`` square anchors around its middle. For each anchor the first output has the
offsets of its box (dy, dx, dh, dw; see ``anchors.py``), the second a probability per class. After Liu et al.,
"SSD: Single Shot MultiBox Detector", 2016, with one grid in place of six.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from arenite.models.architectures.network import INPUT, Builder, Network, channels, kernel_size, picture

STRIDE = 8
"""Pixels of the input per cell of the grid."""

SIZES = (0.2, 0.3)
"""Sides of the anchors, as shares of the picture's side."""


def detector(shape: Sequence[int], classes: int, width: float = 1.0) -> Network:
    """``shape``: (height, width, channels), sides of at least 32. Outputs (anchors, 4) and (anchors, classes)."""
    high, wide, _ = picture(shape, "detector")
    kernel = kernel_size(shape, 3, 3)
    b = Builder()
    x = b.conv(INPUT, channels(16, width), kernel, (2, 2))
    for base, stride in ((32, 2), (64, 1), (64, 2), (128, 1), (128, 1), (128, 1)):
        x = b.depthwise(x, kernel, (stride, stride))
        x = b.conv(x, channels(base, width), (1, 1))
    anchors = -(-high // STRIDE) * -(-wide // STRIDE) * len(SIZES)
    boxes = b.conv(x, 4 * len(SIZES), (1, 1), activation="", normalize=False)
    # The bias makes nearly everything background at first; otherwise the many anchors without an object would dominate.
    scores = b.conv(x, classes * len(SIZES), (1, 1), activation="", normalize=False, bias=-log(99))
    outputs = [b.reshape(boxes, (anchors, 4)), b.reshape(scores, (anchors, classes), activation="sigmoid")]
    return b.network("detector", width, shape, classes, outputs)
