"""Make the camera frames for the benchmark: photographs with and without a face, in the format of a 1280x720 camera
(YUYV).

The same face is pasted into other photographs at several places and in several sizes. Some frames have no face. Each
frame has its own memory, aligned to a page like a camera's buffers.
"""

from __future__ import annotations

import io
import mmap
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from arenite.models.manifest import manifest
from arenite.models.package_members import package_members

WIDTH, HEIGHT = 1280, 720
#: The usual number of buffers of a V4L2 camera, and a number whose buffers exceed a level 3 cache (44 MB).
RING, LARGE_RING = 4, 24
#: The numbers of the pictures in the smallest ring: three with the face, one without.
_FIRST = (1, 4, 8, 9)
#: The part of the portrait that is used, as (left, top, right, bottom) in pixels: head and shoulders, as in front of a
#: camera.
_HEAD = (64, 0, 384, 320)
#: For each picture: the photograph in the background, the width and height of the portrait in pixels (0 for no
#: portrait), and its left and top edge in pixels.
_SCENES = (
    ("coffee", 720, 0, 0),
    ("coffee", 720, 280, 0),
    ("coffee", 720, 560, 0),
    ("chelsea", 600, 40, 120),
    ("chelsea", 600, 340, 60),
    ("chelsea", 600, 640, 0),
    ("camera", 480, 100, 200),
    ("camera", 480, 400, 120),
    ("camera", 480, 760, 40),
    ("coffee", 0, 0, 0),
    ("chelsea", 0, 0, 0),
    ("camera", 0, 0, 0),
)


@dataclass(frozen=True)
class Picture:
    """A frame in two formats: ``rgb``, uint8 [720, 1280, 3], and ``yuyv``, uint8 [720, 2560], by BT.601 in studio range
    and page-aligned. ``face`` is true if the frame shows a face.

    ``rgb`` was converted from ``yuyv`` by OpenCV, so both show the same picture."""

    name: str
    face: bool
    rgb: np.ndarray
    yuyv: np.ndarray


@cache
def pictures() -> tuple[Picture, ...]:
    """Return all frames in the order of ``_SCENES``. The photographs are downloaded once. Raises ``ToolError`` if that
    fails."""
    import cv2
    from PIL import Image

    files = manifest().pictures["photos"]
    names = [path.rsplit("/", 1)[-1].split(".")[0] for path in files.paths]
    photographs = {
        name: Image.open(io.BytesIO(data)).convert("RGB")
        for name, data in zip(names, package_members(files, "pictures"), strict=True)
    }
    portrait = photographs["astronaut"].crop(_HEAD)
    frames = []
    for number, (backdrop, side, left, top) in enumerate(_SCENES):
        canvas = _cover(photographs[backdrop])
        if side:
            canvas.paste(portrait.resize((side, side), Image.Resampling.LANCZOS), (left, top))
        yuyv = _own_pages(to_yuyv(np.asarray(canvas)))
        rgb = cv2.cvtColor(yuyv.reshape(HEIGHT, WIDTH, 2), cv2.COLOR_YUV2RGB_YUYV)
        frames.append(Picture(f"{number:02d}-{backdrop}-{side}", side > 0, rgb, yuyv))
    return tuple(frames)


def ring(buffers: int = RING) -> tuple[Picture, ...]:
    """Return ``buffers`` frames, each in its own memory.

    ``RING`` frames stay in the last-level cache, as with a driver that copies frames (UVC) or a bus that writes into
    the cache. ``LARGE_RING`` frames do not stay in the cache, as with a device that writes to main memory."""
    return _ring(buffers)


@cache
def _ring(buffers: int) -> tuple[Picture, ...]:
    frames = pictures()
    order = [*_FIRST, *(k for k in range(len(frames)) if k not in _FIRST)]
    selected = [frames[order[k % len(order)]] for k in range(buffers)]
    return tuple(replace(picture, yuyv=_own_pages(picture.yuyv)) for picture in selected)


def _cover(photograph):  # type: ignore[no-untyped-def]  # pictures of Pillow, which is optional
    """Return the middle of ``photograph``, scaled and cropped to the size of the frame."""
    from PIL import Image

    scale = max(WIDTH / photograph.width, HEIGHT / photograph.height)
    size = (round(photograph.width * scale), round(photograph.height * scale))
    left, top = (size[0] - WIDTH) // 2, (size[1] - HEIGHT) // 2
    scaled = photograph.resize(size, Image.Resampling.BICUBIC)
    return scaled.crop((left, top, left + WIDTH, top + HEIGHT))


def to_yuyv(rgb: np.ndarray) -> np.ndarray:
    """Convert an RGB picture, uint8 [height, width, 3], to YUYV, uint8 [height, 2 * width], by BT.601 in studio range
    (ITU-R BT.601-7). Two neighboring pixels get the mean of their chroma."""
    r, g, b = (rgb[..., k].astype(np.float32) for k in range(3))
    y = 16 + (65.481 * r + 128.553 * g + 24.966 * b) / 255
    u = 128 + (-37.797 * r - 74.203 * g + 112.0 * b) / 255
    v = 128 + (112.0 * r - 93.786 * g - 18.214 * b) / 255
    yuyv = np.empty((*rgb.shape[:2], 2), np.float32)
    yuyv[..., 0] = y
    yuyv[:, 0::2, 1] = (u[:, 0::2] + u[:, 1::2]) / 2
    yuyv[:, 1::2, 1] = (v[:, 0::2] + v[:, 1::2]) / 2
    return np.rint(yuyv).clip(0, 255).astype(np.uint8).reshape(rgb.shape[0], -1)


def _own_pages(data: np.ndarray) -> np.ndarray:
    """Return a copy of ``data`` in its own page-aligned memory."""
    pages = np.frombuffer(mmap.mmap(-1, data.nbytes), np.uint8).reshape(data.shape)
    pages[:] = data
    return pages
