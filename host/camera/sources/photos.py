"""Play photographs that are panned and zoomed as if a camera moved, for computers without a camera.

The pictures are in one file in the cache, which is written once. It has each photograph at two sizes, in the requested
pixel format. A frame is a window of that file, with the stride of the file, so that playing writes no memory and reads
only the pixels that a model samples. The pictures are the same, to the bit, on every computer.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from arenite.errors import ToolError, UsageError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.pixel_encoding import (
    PIXELS,
    encode_pixels,
    resize_bilinear,
    synthetic_format,
)

#: The number of frames of one shot.
FRAMES_PER_SHOT = 60
#: The version of the file. Increase it with every change that changes its bytes.
VERSION = 1


@dataclass(frozen=True)
class Shot:
    """A pan over the photograph with the index ``photo``. ``zoom`` is the size of the photograph, relative to the
    smallest size that fills the frame. ``start`` and ``end`` are the positions (left, top) of the window, as shares of
    the distance that the window can move."""

    photo: int
    zoom: float
    start: tuple[float, float]
    end: tuple[float, float]


SHOTS = (
    Shot(0, 1.0, (0.0, 0.0), (0.0, 0.35)),  # a complete face
    Shot(0, 1.6, (0.2, 0.03), (0.5, 0.12)),  # the face from nearby
    Shot(1, 1.1, (0.0, 0.5), (1.0, 0.5)),
    Shot(1, 1.5, (0.6, 0.2), (0.3, 0.5)),
    Shot(2, 1.1, (0.0, 0.3), (1.0, 0.6)),
    Shot(2, 1.5, (0.3, 0.1), (0.5, 0.4)),
    Shot(3, 1.0, (0.0, 0.1), (0.0, 0.6)),
    Shot(3, 1.4, (0.2, 0.1), (0.5, 0.4)),
)


class PhotoGenerator:
    """A ``FrameGenerator`` that plays ``SHOTS`` again and again."""

    name = "photos"

    def __init__(self, pixels: str = "yuyv", width: int = 1280, height: int = 720, fps: float = 30.0) -> None:
        synthetic_format(pixels, width, height, fps)
        self._requested = (pixels, width, height, fps)
        self._bytes: np.ndarray | None = None
        self._format: Format | None = None
        #: For each shot: the offset of its photograph in the file, the offset of its chroma, and its width and height.
        self._shots: list[tuple[int, int, int, int]] = []

    def open(self) -> Format:
        pixels, width, height, fps = self._requested
        sizes = [_photo_size(shot, width, height) for shot in SHOTS]
        # Rows begin at cache lines of 64 bytes.
        stride = -(-max(w for w, _ in sizes) * PIXELS[pixels] // 64) * 64
        stride += 64 if stride % 1024 == 0 else 0  # otherwise rows would compete for cache lines
        self._format = synthetic_format(pixels, width, height, fps, stride)
        self._shots, end = [], 0
        for wide, high in sizes:
            chroma = end + high * stride
            self._shots.append((end, chroma, wide, high))
            end = chroma + (high // 2 * stride if pixels == "nv12" else 0)
        # A window is read with full rows, so its last row ends in the next row of the file. Add a row at the end.
        self._bytes = _map_pictures(pixels, width, height, sizes, stride, end + stride)
        return self._format

    def picture(self, number: int) -> tuple[tuple[int, ...], object]:
        assert self._bytes is not None
        left, top, luma, chroma = self._window(number)
        pixels, _, _, _ = self._requested
        base, stride = self._bytes.ctypes.data, self._format.strides[0]  # type: ignore[union-attr]
        first = base + luma + top * stride + left * PIXELS[pixels]
        if pixels != "nv12":
            return (first,), self._bytes
        return (first, base + chroma + top // 2 * stride + left), self._bytes

    def close(self) -> None:
        """Close the generator. The file stays mapped as long as a frame is held."""
        self._bytes = None

    def _window(self, number: int) -> tuple[int, int, int, int]:
        """Return left and top of the window of frame ``number`` in pixels, and the two offsets of its shot."""
        _, width, height, _ = self._requested
        index, step = (number // FRAMES_PER_SHOT) % len(SHOTS), number % FRAMES_PER_SHOT
        shot, (luma, chroma, wide, high) = SHOTS[index], self._shots[index]
        part = step / (FRAMES_PER_SHOT - 1)
        part = part * part * (3 - 2 * part)  # slow at both ends
        x, y = (a + (b - a) * part for a, b in zip(shot.start, shot.end, strict=True))
        return int((wide - width) * x) // 2 * 2, int((high - height) * y) // 2 * 2, luma, chroma


#: The width and height of each photograph.
_PHOTOS = ((512, 512), (600, 400), (451, 300), (512, 512))


def _photo_size(shot: Shot, width: int, height: int) -> tuple[int, int]:
    """Return the width and height of the photograph in a shot. Both are even and large enough to fill the frame."""
    wide, high = _PHOTOS[shot.photo]
    scale = max(width / wide, height / high) * shot.zoom
    return max(round(wide * scale / 2) * 2, width), max(round(high * scale / 2) * 2, height)


def _map_pictures(
    pixels: str, width: int, height: int, sizes: list[tuple[int, int]], stride: int, total: int
) -> np.ndarray:
    """Return the file of pictures, mapped from the cache, as uint8, shape (total,). Create it if it does not exist."""
    from arenite.files import cache_directory, replace_file

    key = hashlib.sha256(repr((VERSION, SHOTS, sizes, stride)).encode()).hexdigest()[:12]
    path = cache_directory() / "pictures" / f"photos-{width}x{height}-{pixels}-{key}.raw"
    if path.is_file() and path.stat().st_size == total:
        return np.memmap(path, np.uint8, "r")
    photos = photographs()
    contents = np.zeros(total, np.uint8)
    at = 0
    for shot, (wide, high) in zip(SHOTS, sizes, strict=True):
        for plane in encode_pixels(resize_bilinear(photos[shot.photo], wide, high), pixels):
            rows = contents[at : at + plane.shape[0] * stride].reshape(-1, stride)
            rows[:, : plane.shape[1]] = plane
            at += rows.size
    try:
        replace_file(path, contents.data, durable=False)
    except OSError:
        return contents  # the cache cannot be written, so use the pictures in memory
    return np.memmap(path, np.uint8, "r")


def photographs() -> list[np.ndarray]:
    """Return the photographs, each uint8, shape (height, width, 3). Raises ``ToolError`` if they cannot be downloaded,
    and ``UsageError`` if no JPEG decoder is installed."""
    from arenite.host.camera.sources.picture_decoder import decode_picture
    from arenite.models.manifest import manifest
    from arenite.models.package_members import package_members

    files = package_members(manifest().pictures["photos"], "pictures")
    photos = [
        decode_picture(data, "rgb", path)
        for data, path in zip(files, manifest().pictures["photos"].paths, strict=True)
    ]
    for picture, size in zip(photos, _PHOTOS, strict=True):
        if picture.shape != (size[1], size[0], 3):
            raise ToolError(
                f"A photograph has the shape {picture.shape}, but the expected shape is {(size[1], size[0], 3)}."
            )
    return photos


def unavailable_reason(pixels: str, width: int, height: int) -> str:
    """Download and prepare the photographs, which takes several seconds the first time. If that fails,
    return the reason, else an empty string."""
    try:
        PhotoGenerator(pixels, width, height).open()
    except (ToolError, UsageError) as error:
        return error.problem
    return ""
