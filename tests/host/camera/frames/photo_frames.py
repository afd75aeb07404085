"""Make frames for tests from photographs, with optional noise and changes of light."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from arenite.errors import AreniteError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources.photos import photographs
from arenite.host.camera.sources.pixel_encoding import encode_pixels, resize_bilinear, synthetic_format

#: Nanoseconds in a second.
SECOND = 1_000_000_000


@cache
def _all_photographs() -> list[np.ndarray] | str:
    """Return all photographs, or the reason why they cannot be fetched."""
    try:
        return photographs()
    except AreniteError as error:
        return error.problem


def photograph(index: int, width: int = 640, height: int = 360) -> np.ndarray:
    """Return photograph ``index``, uint8 [height, width, 3]. Skip the test if photographs cannot be fetched."""
    photos = _all_photographs()
    if isinstance(photos, str):
        pytest.skip(photos)
    rgb = photos[index]
    scale = max(width / rgb.shape[1], height / rgb.shape[0])
    # At least as large as the result, with even sides.
    wide, high = -(-rgb.shape[1] * scale // 2) * 2, -(-rgb.shape[0] * scale // 2) * 2
    return resize_bilinear(rgb, int(wide), int(high))[:height, :width]


def frame_of(
    rgb: np.ndarray,
    time_ns: int = 0,
    pixels: str = "yuyv",
    sequence: int = 0,
    source: int = 0,
    release: Callable[[], None] | None = None,
) -> Frame:
    """Return a frame with the picture ``rgb``, uint8 [height, width, 3], in the pixel format ``pixels``."""
    height, width = rgb.shape[:2]
    planes = tuple(np.ascontiguousarray(plane) for plane in encode_pixels(rgb, pixels))
    format = synthetic_format(pixels, width, height, 30.0)
    assert tuple(plane.strides[0] for plane in planes) == format.strides
    addresses = tuple(plane.ctypes.data for plane in planes)
    return Frame(format, addresses, planes, sequence, time_ns, release, source=source)


def grey_frame(values: np.ndarray, time_ns: int = 0) -> Frame:
    """Return a frame in the format "grey" with the pixels ``values``, uint8 [height, width]."""
    pixels = np.ascontiguousarray(values)
    format = Format("grey", values.shape[1], values.shape[0], (values.shape[1],), 30.0)
    return Frame(format, (pixels.ctypes.data,), pixels, 0, time_ns)


def noisy(rgb: np.ndarray, sigma: float, seed: int) -> np.ndarray:
    """Return the picture with normally distributed noise. Its standard deviation is ``sigma``."""
    random = np.random.default_rng(seed)
    return np.clip(rgb + random.normal(0, sigma, rgb.shape), 0, 255).astype(np.uint8)


def lit(rgb: np.ndarray, gain: float, offset: float = 0.0) -> np.ndarray:
    """Return the picture in another light: pixel values times ``gain`` plus ``offset``."""
    return np.clip(rgb * gain + offset, 0, 255).astype(np.uint8)
