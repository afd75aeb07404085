"""Compute a frame's brightness on a coarse grid. Only a few thousand bytes of the camera's own memory are read."""

from __future__ import annotations

import ctypes

import numpy as np

from arenite.host.camera.frames.frame import Frame

#: The size of the grid in cells.
COLUMNS, ROWS = 64, 36
#: The number of neighboring pixels that are averaged per cell. The mean of four pixels has half the noise of one pixel.
PIXELS = 4

#: For each pixel format, the byte offset of the first brightness value, and the distance in bytes from one value to the
#: next. RGB formats use green for brightness.
_LAYOUTS = {
    "grey": (0, 1),
    "nv12": (0, 1),
    "nv21": (0, 1),
    "yu12": (0, 1),
    "yv12": (0, 1),
    "yuyv": (0, 2),
    "uyvy": (1, 2),
    "rgb": (1, 3),
    "bgr": (1, 3),
    "rgba": (1, 4),
    "bgra": (1, 4),
    "rgb565": (0, 2),
    "rgb565be": (0, 2),
}


def luma_grid(frame: Frame, columns: int = COLUMNS, rows: int = ROWS) -> np.ndarray:
    """Return the brightness of every cell, 0 to 255, float32, shape (rows, columns). It is the mean of four neighboring
    pixels in the middle of the cell. Small pictures get fewer cells.

    Raises ``KeyError`` for an unknown pixel format.
    """
    format = frame.format
    first, step = _LAYOUTS[format.pixels]
    stride = format.strides[0]
    columns = max(1, min(columns, format.width // PIXELS))
    rows = min(rows, format.height)
    cell_width, cell_height = format.width // columns, format.height // rows
    pixel_count = min(PIXELS, cell_width)
    memory = memoryview((ctypes.c_uint8 * (format.height * stride)).from_address(frame.planes[0]))
    offset = (cell_height // 2) * stride + ((cell_width - pixel_count) // 2) * step + first
    strides = (cell_height * stride, cell_width * step, step)
    shape = (rows, columns, pixel_count)
    if format.pixels in ("rgb565", "rgb565be"):
        words = np.ndarray(shape, "<u2" if format.pixels == "rgb565" else ">u2", memory, offset, strides)
        pixels = (words >> 3) & 0xFC
    else:
        pixels = np.ndarray(shape, np.uint8, memory, offset, strides)
    total = pixels[:, :, 0].astype(np.float32)
    for pixel in range(1, pixel_count):
        total += pixels[:, :, pixel]
    total *= 1.0 / pixel_count
    return total
