"""Encode RGB pictures as a camera would deliver them, for sources that generate their pictures.

RGB is converted to YUV as BT.601 in video range (luma 16 to 235), with OpenCV's 20-bit coefficients. The preprocessing
of models converts YUV back to RGB.
"""

from __future__ import annotations

import numpy as np

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format

#: The pixel formats of generated pictures, with the bytes per pixel in the first plane.
PIXELS = {"yuyv": 2, "uyvy": 2, "nv12": 1, "grey": 1, "rgb": 3, "bgr": 3, "rgba": 4, "bgra": 4}

#: The number of rows that are encoded at a time; it must be even.
_BAND = 32


def synthetic_format(pixels: str, width: int, height: int, fps: float, stride: int = 0) -> Format:
    """Return the format of generated pictures. ``stride`` is the number of bytes from one row to the next; 0 means no
    gaps. Raises ``UsageError`` if the pixel format or the size is not supported."""
    if pixels not in PIXELS:
        raise UsageError(
            f"Pictures cannot be generated in the pixel format '{pixels}'.",
            f"Give one of {', '.join(PIXELS)}.",
        )
    even = pixels in ("yuyv", "uyvy", "nv12")
    if not (2 <= width <= 8192 and 2 <= height <= 8192) or (even and (width % 2 or height % 2)):
        raise UsageError(
            f"A picture of {width}x{height} pixels cannot be generated as {pixels}.",
            f"Give 2 to 8192 pixels{', even numbers for ' + pixels if even else ''}.",
        )
    row = stride or width * PIXELS[pixels]
    return Format(pixels, width, height, (row, row) if pixels == "nv12" else (row,), fps)


def encode_pixels(rgb: np.ndarray, pixels: str) -> tuple[np.ndarray, ...]:
    """Encode ``rgb``, uint8, shape (height, width, 3), in the pixel format ``pixels``. Return its planes, each uint8,
    shape (rows, bytes per row)."""
    # Encode one band at a time, because the 32-bit sums of a whole picture would take dozens of megabytes.
    bands = [_encode(rgb[top : top + _BAND], pixels) for top in range(0, rgb.shape[0], _BAND)]
    return bands[0] if len(bands) == 1 else tuple(np.concatenate(parts) for parts in zip(*bands, strict=True))


def _encode(rgb: np.ndarray, pixels: str) -> tuple[np.ndarray, ...]:
    high, wide = rgb.shape[:2]
    if pixels in ("rgb", "bgr"):
        return (np.ascontiguousarray(rgb if pixels == "rgb" else rgb[:, :, ::-1]).reshape(high, wide * 3),)
    if pixels in ("rgba", "bgra"):
        out = np.full((high, wide, 4), 255, np.uint8)
        out[:, :, :3] = rgb if pixels == "rgba" else rgb[:, :, ::-1]
        return (out.reshape(high, wide * 4),)
    r, g, b = (rgb[:, :, k].astype(np.int32) for k in range(3))
    if pixels == "grey":
        # As in OpenCV: luma in full range (0 to 255), with 15-bit coefficients.
        return (((9798 * r + 19235 * g + 3735 * b + (1 << 14)) >> 15).astype(np.uint8),)
    # 33 << 19 is 16.5 in fixed point with 20 fractional bits: the smallest luma, 16, and 0.5 for rounding.
    luma = ((269484 * r + 528482 * g + 102760 * b + (33 << 19)) >> 20).astype(np.uint8)
    # Chroma is the mean of two neighboring pixels; for NV12, it is the mean of two pixels in each of two rows. Compute
    # sums here; the larger shifts below divide them.
    r, g, b = (c[:, 0::2] + c[:, 1::2] for c in (r, g, b))
    bits = 21
    if pixels == "nv12":
        r, g, b = (c[0::2] + c[1::2] for c in (r, g, b))
        bits = 22
    # This fits in 32 bits: the sum of four pixels (at most 4 * 255), times the largest factor, plus the offset, is
    # below 2^30.
    middle = (257 << bits) >> 1  # 128.5: the chroma of grey, and 0.5 for rounding
    u = ((-155188 * r - 305135 * g + 460324 * b + middle) >> bits).astype(np.uint8)
    v = ((460324 * r - 385875 * g - 74448 * b + middle) >> bits).astype(np.uint8)
    if pixels == "nv12":
        return luma, np.stack([u, v], axis=-1).reshape(high // 2, wide)
    out = np.empty((high, wide // 2, 4), np.uint8)
    first = 0 if pixels == "yuyv" else 1
    out[:, :, first], out[:, :, first + 2] = luma[:, 0::2], luma[:, 1::2]
    out[:, :, 1 - first], out[:, :, 3 - first] = u, v
    return (out.reshape(high, wide * 2),)


def resize_bilinear(picture: np.ndarray, width: int, height: int) -> np.ndarray:
    """Resize ``picture``, uint8, shape (rows, columns, 3), by bilinear interpolation between pixel centres. The result
    is the same on every computer, because only integers are used."""
    x = picture.astype(np.int32)
    for axis, size in ((0, height), (1, width)):
        old = x.shape[axis]
        # Positions in the old picture, as integers in units of 1/256 pixel.
        at = np.clip(
            ((2 * np.arange(size, dtype=np.int64) + 1) * old * 128) // size - 128, 0, (old - 1) * 256
        )
        low, share = at >> 8, (at & 255).astype(np.int32).reshape(-1, *[1] * (2 - axis))
        high = np.minimum(low + 1, old - 1)
        x = (x.take(low, axis) * (256 - share) + x.take(high, axis) * share + 128) >> 8
    return x.astype(np.uint8)
