"""Resize and scale pictures for training, with the same preprocessing that is recorded in the network's image."""

from __future__ import annotations

import numpy as np

from arenite.converters.processing.preprocess import preprocess_pixels
from arenite.converters.processing.specification.image_steps import ImageSource, Resize
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing
from arenite.errors import UsageError

#: The smallest and the largest side, in pixels, that pictures may be resized to.
SIDE_LIMITS = (8, 224)


def resize_images(
    pixels: np.ndarray, resolution: int | None, *, largest: float
) -> tuple[np.ndarray, Preprocessing]:
    """Return the pictures ``pixels`` resized and scaled, as float32, and the preprocessing that does the same.

    ``pixels`` is uint8 of shape (samples, height, width, 1 or 3). Both sides become ``resolution`` pixels; None keeps
    the size. Values from 0 to ``largest`` are scaled to 0 to 1. Raises ``UsageError`` for a resolution out of range.
    """
    if resolution is not None and not SIDE_LIMITS[0] <= resolution <= SIDE_LIMITS[1]:
        raise UsageError(
            f"A resolution of {resolution} is outside {SIDE_LIMITS[0]} to {SIDE_LIMITS[1]} pixels.",
            "Give the side of the network's input.",
        )
    scale, pixel_format = Normalize(divide=largest), "grey" if pixels.shape[3] == 1 else "rgb"
    if resolution is None or pixels.shape[1:3] == (resolution, resolution):
        # This is the same computation as the preprocessing, but for all pictures at once.
        return pixels.astype(np.float32) / np.float32(largest), Preprocessing(
            ImageSource(pixel_format), (scale,)
        )
    spec = Preprocessing(ImageSource(pixel_format), (Resize(resolution, resolution), scale))
    height, width = pixels.shape[1:3]
    return np.stack([preprocess_pixels(spec, p, pixel_format, width, height) for p in pixels]), spec


def resize_image(x: np.ndarray, side: int) -> np.ndarray:
    """Return ``x``, real values of shape (height, width, channels), resized to ``side`` x ``side`` by bilinear
    interpolation between pixel centers.

    This function is for generating pictures, not for preprocessing.
    """
    for axis in (0, 1):
        size = x.shape[axis]
        position = np.clip((np.arange(side) + 0.5) * (size / side) - 0.5, 0, size - 1).astype(np.float32)
        floor = np.floor(position).astype(np.int64)
        fraction = (position - floor).reshape(-1, *[1] * (x.ndim - 1 - axis))
        x = x.take(floor, axis) * (1 - fraction) + x.take(np.minimum(floor + 1, size - 1), axis) * fraction
    return x
