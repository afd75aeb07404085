"""Pictures as a network's input, prepared by the same preprocessing that is recorded in its image."""

from __future__ import annotations

import numpy as np

from arenite.converters.processing.preprocess import preprocess_pixels
from arenite.converters.processing.specification.image_steps import ImageSource, Resize
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing
from arenite.errors import UsageError

#: The sides that pictures may be resized to.
SIDES = (8, 224)


def resize_images(
    pixels: np.ndarray, resolution: int | None, *, largest: float
) -> tuple[np.ndarray, Preprocessing]:
    """``pixels``, uint8 (samples, height, width, 1 or 3), 0 to ``largest``, as float32 of 0 to 1 with sides of
    ``resolution``; and the preprocessing that does this.

    Raises ``UsageError`` for a resolution out of range.
    """
    if resolution is not None and not SIDES[0] <= resolution <= SIDES[1]:
        raise UsageError(
            f"A resolution of {resolution} is outside {SIDES[0]} to {SIDES[1]} pixels.",
            "Give the side of the network's input.",
        )
    scale, order = Normalize(divide=largest), "grey" if pixels.shape[3] == 1 else "rgb"
    if resolution is None or pixels.shape[1:3] == (resolution, resolution):
        # The preprocessing of each picture, applied to all at once.
        return pixels.astype(np.float32) / np.float32(largest), Preprocessing(ImageSource(order), (scale,))
    spec = Preprocessing(ImageSource(order), (Resize(resolution, resolution), scale))
    high, wide = pixels.shape[1:3]
    return np.stack([preprocess_pixels(spec, p, order, wide, high) for p in pixels]), spec


def resize_image(x: np.ndarray, side: int) -> np.ndarray:
    """Real values (height, width, channels) at ``side`` x ``side``, bilinear between the middles of pixels; for
    generating pictures, not for preprocessing."""
    for axis in (0, 1):
        size = x.shape[axis]
        at = np.clip((np.arange(side) + 0.5) * (size / side) - 0.5, 0, size - 1).astype(np.float32)
        low = np.floor(at).astype(np.int64)
        share = (at - low).reshape(-1, *[1] * (x.ndim - 1 - axis))
        x = x.take(low, axis) * (1 - share) + x.take(np.minimum(low + 1, size - 1), axis) * share
    return x
