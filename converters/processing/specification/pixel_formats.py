"""Convert the pixels of a buffer to RGB, and RGB to grey, with integer arithmetic.

YUV is converted as BT.601 in video range (luma 16 to 235), with OpenCV's 20-bit coefficients (color_yuv.simd.hpp).
"""

from __future__ import annotations

from typing import cast

import numpy as np

from arenite.errors import UsageError

#: Grey is (red * R + green * G + blue * B) / 2^bits, rounded to nearest. The four integers (R, G, B, bits) of Pillow's
#: convert("L") and OpenCV's COLOR_RGB2GRAY.
GREY = {"pil": (19595, 38470, 7471, 16), "opencv": (9798, 19235, 3735, 15)}

#: The bytes per pixel of the packed formats.
PIXEL_BYTES = {
    "rgb": 3,
    "bgr": 3,
    "grey": 1,
    "rgba": 4,
    "bgra": 4,
    "rgb565": 2,
    "rgb565be": 2,
    "yuyv": 2,
    "uyvy": 2,
}
#: The order of the colors in a buffer before any ``colour`` step; "rgb" for other formats.
_COLOR_ORDER = {"bgr": "bgr", "bgra": "bgr", "grey": "grey"}


def color_order(format: str) -> str:
    """Return the order of the colors in a buffer before any ``colour`` step: ``rgb``, ``bgr`` or ``grey``."""
    return _COLOR_ORDER.get(format, "rgb")


#: The number of planes of the planar formats. The first plane is luma. Chroma has half the width and height: pairs
#: (u, v) in one plane, or u and v in a plane each.
PLANES = {"nv12": 2, "nv21": 2, "yu12": 3, "yv12": 3}
#: The formats with chroma subsampling: two neighboring pixels share u and v, in ``PLANES`` also two rows.
SUBSAMPLED = ("yuyv", "uyvy", *PLANES)


def planes_of(format: str, width: int, height: int) -> tuple[tuple[int, int], ...]:
    """Return (bytes per row, number of rows) of each plane of a buffer without gaps. Packed formats have one plane."""
    count = PLANES.get(format, 1)
    if count == 1:
        return ((width * PIXEL_BYTES[format], height),)
    return ((width, height), *[(width // (count - 1), height // 2)] * (count - 1))


def buffer_bytes(format: str, width: int, height: int) -> int:
    """Return the size of a buffer without gaps between its rows."""
    return sum(row * rows for row, rows in planes_of(format, width, height))


def unpack(data: np.ndarray, format: str, width: int, height: int) -> np.ndarray:
    """Convert a uint8 buffer without gaps between its rows to uint8 [height, width, channels].

    There is 1 channel for grey, and 3 in the order of ``color_order`` otherwise. Raises ``UsageError`` if the buffer
    has another size.
    """
    flat = np.ascontiguousarray(data, np.uint8).reshape(-1)
    expected = buffer_bytes(format, width, height)
    if flat.size != expected:
        raise UsageError(
            f"The picture has {flat.size:,} bytes, expected {expected:,} for {width}x{height} pixels of"
            f" format {format}.",
            "Give a buffer without gaps between its rows.",
        )
    if format in ("rgb565", "rgb565be"):
        return _rgb565(flat.reshape(height, width, 2), format == "rgb565be")
    if format in ("yuyv", "uyvy"):
        pairs = flat.reshape(height, width // 2, 4).astype(np.int64)
        first = 0 if format == "yuyv" else 1
        luma = pairs[:, :, first::2].reshape(height, width)
        u, v = (np.repeat(pairs[:, :, 1 - first + k], 2, axis=1) for k in (0, 2))
        return _yuv(luma, u, v)
    if format in PLANES:
        luma = flat[: width * height].reshape(height, width).astype(np.int64)
        paired = PLANES[format] == 2
        shape = (height // 2, width // 2, 2) if paired else (2, height // 2, width // 2)
        chroma = flat[width * height :].reshape(shape).astype(np.int64)
        halves = np.moveaxis(chroma, 2, 0) if paired else chroma
        u, v = np.repeat(np.repeat(halves, 2, axis=1), 2, axis=2)
        return _yuv(luma, v, u) if format in ("nv21", "yv12") else _yuv(luma, u, v)
    pixels = flat.reshape(height, width, PIXEL_BYTES[format])
    return pixels[:, :, :3]


def _rgb565(pixels: np.ndarray, big_endian: bool) -> np.ndarray:
    """Convert RGB565 to 8 bits per color. The upper bits are repeated in the lower bits."""
    high, low = (pixels[:, :, 0], pixels[:, :, 1]) if big_endian else (pixels[:, :, 1], pixels[:, :, 0])
    word = high.astype(np.int64) << 8 | low
    r, g, b = word >> 11, word >> 5 & 63, word & 31
    return np.stack([r << 3 | r >> 2, g << 2 | g >> 4, b << 3 | b >> 2], axis=-1).astype(np.uint8)


def _yuv(y: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Convert int64 planes [height, width] to uint8 RGB [height, width, 3]."""
    y = np.maximum(y - 16, 0) * 1220542
    u, v = u - 128, v - 128
    half = 1 << 19
    rgb = (y + 1673527 * v + half, y - 852492 * v - 409993 * u + half, y + 2116026 * u + half)
    return cast(np.ndarray, np.clip(np.stack([c >> 20 for c in rgb], axis=-1), 0, 255).astype(np.uint8))


def to_grey(pixels: np.ndarray, order: str, convention: str) -> np.ndarray:
    """Convert uint8 [..., 3] in ``order`` ("rgb" or "bgr") to grey, uint8 [..., 1]. ``convention`` is a key of
    ``GREY``."""
    r, g, b, bits = GREY[convention]
    weights = np.array([r, g, b] if order == "rgb" else [b, g, r], np.int64)
    return ((pixels.astype(np.int64) @ weights + (1 << (bits - 1))) >> bits).astype(np.uint8)[..., np.newaxis]
