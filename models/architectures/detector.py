"""A small single-shot detector: depthwise-separable blocks down to 1/8 of the resolution, and two outputs on one grid.

Each cell of the grid has ``len(SIZES)`` square anchors around its center. For each anchor, the first output has the
offsets of its box (dy, dx, dh, dw; see ``anchors.py``), and the second output has a probability per class. The design
follows Liu et al., "SSD: Single Shot MultiBox Detector", 2016, but has one grid instead of six.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from arenite.models.architectures.network import INPUT, Builder, Network, channels, kernel_size, picture

STRIDE = 8
"""Pixels of the input per cell of the grid."""

SIZES = (0.2, 0.3)
"""Sides of the anchors, as fractions of the picture's side."""


def detector(shape: Sequence[int], classes: int, width: float = 1.0) -> Network:
    """Return the network for pictures of ``shape`` (height, width, channels) with sides of at least 32 pixels.

    The outputs have shapes (anchors, 4) and (anchors, classes).
    """
    high, wide, _ = picture(shape, "detector")
    kernel = kernel_size(shape, 3, 3)
    b = Builder()
    x = b.conv(INPUT, channels(16, width), kernel, (2, 2))
    # (channels at width 1, stride) of each block
    for base, stride in ((32, 2), (64, 1), (64, 2), (128, 1), (128, 1), (128, 1)):
        x = b.depthwise(x, kernel, (stride, stride))
        x = b.conv(x, channels(base, width), (1, 1))
    anchors = -(-high // STRIDE) * -(-wide // STRIDE) * len(SIZES)
    boxes = b.conv(x, 4 * len(SIZES), (1, 1), activation="", normalize=False)
    # With this bias, each class has a probability of 1 % at the start, so nearly every anchor starts as background.
    # Otherwise the many anchors without an object would dominate the loss.
    scores = b.conv(x, classes * len(SIZES), (1, 1), activation="", normalize=False, bias=-log(99))
    outputs = [b.reshape(boxes, (anchors, 4)), b.reshape(scores, (anchors, classes), activation="sigmoid")]
    return b.network("detector", width, shape, classes, outputs)
