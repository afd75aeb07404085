"""Read the pictures of a virtual camera from files, and convert them to the camera's format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from arenite.array_files import read_arrays
from arenite.converters.processing.media_files import PICTURE_SUFFIXES, read_picture
from arenite.converters.processing.specification.pixel_formats import PIXEL_BYTES
from arenite.errors import UsageError


class FrameShape(Protocol):
    """The size and the pixel format of a camera's frames, such as an ``ImagePlan`` or ``CameraSettings``."""

    @property
    def width(self) -> int: ...

    @property
    def height(self) -> int: ...

    @property
    def format(self) -> str: ...


def read_frames(paths: Sequence[str | Path], plan: FrameShape) -> list[np.ndarray]:
    """Return the frames of a camera with the format and the size of ``plan``, each as uint8 [bytes of a frame].

    Each path is a picture, a folder of pictures, which are read in the order of their names, or an ``.npz`` file whose
    array ``x`` has uint8 pictures [count, height, width, 1 or 3]. Pictures of another size are cut to the camera's
    proportions, in the middle, and resized.

    Raises ``UsageError`` if a file cannot be read or there are no pictures.
    """
    frames: list[np.ndarray] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix.lower() in PICTURE_SUFFIXES)
            frames += [frame_of(read_picture(p, "rgb"), plan) for p in inside]
        elif path.suffix == ".npz":
            frames += [frame_of(picture, plan) for picture in _arrays(path)]
        else:
            frames.append(frame_of(read_picture(path, "rgb"), plan))
    if not frames:
        raise UsageError(
            f"There are no pictures in {', '.join(map(str, paths))}.",
            "Give PNG or JPEG files, or a folder of them.",
        )
    return frames


def _arrays(path: Path) -> np.ndarray:
    """Return the pictures of an ``.npz`` file."""
    advice = "Save uint8 pictures of shape [count, height, width, 1 or 3] as x with numpy.savez."
    try:
        arrays = read_arrays(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"Cannot read {path}: {error}.", advice) from error
    pictures = arrays.get("x")
    if (
        pictures is None
        or pictures.dtype != np.uint8
        or pictures.ndim != 4
        or pictures.shape[3] not in (1, 3)
    ):
        found = "no array x" if pictures is None else f"{pictures.dtype} {list(pictures.shape)}"
        raise UsageError(f"{path} has {found}, expected pictures.", advice)
    return pictures


def frame_of(picture: np.ndarray, plan: FrameShape) -> np.ndarray:
    """Return the frame of a camera that sees ``picture``, uint8 [height, width, 1 or 3 (red, green, blue)]."""
    from PIL import Image, ImageOps

    size = (plan.width, plan.height)
    image = Image.fromarray(picture[:, :, 0] if picture.shape[2] == 1 else picture)
    if image.size != size:
        image = ImageOps.fit(image, size, Image.Resampling.BILINEAR)
    if plan.format == "grey":
        return np.asarray(image.convert("L")).reshape(-1)
    return pack(np.asarray(image.convert("RGB")), plan.format)


def pack(rgb: np.ndarray, format: str) -> np.ndarray:
    """Return uint8 pixels [height, width, 3] as the bytes of a packed color format."""
    assert format in PIXEL_BYTES and format != "grey"
    if format in ("rgb", "bgr"):
        return (rgb if format == "rgb" else rgb[:, :, ::-1]).reshape(-1)
    if format in ("rgba", "bgra"):
        order = rgb if format == "rgba" else rgb[:, :, ::-1]
        return np.concatenate([order, np.full((*rgb.shape[:2], 1), 255, np.uint8)], axis=2).reshape(-1)
    if format in ("rgb565", "rgb565be"):
        red, green, blue = (rgb[:, :, k].astype(np.uint16) for k in range(3))
        words = (red >> 3) << 11 | (green >> 2) << 5 | blue >> 3
        return words.astype("<u2" if format == "rgb565" else ">u2").reshape(-1).view(np.uint8)
    return _pack_yuv(rgb.astype(np.float64), luma_first=format == "yuyv")


def _pack_yuv(rgb: np.ndarray, luma_first: bool) -> np.ndarray:
    """Return pixels as BT.601 in video range; two neighbors share the mean of their chroma."""
    red, green, blue = rgb[:, :, 0], rgb[:, :, 1], rgb[:, :, 2]
    luma = 16 + 0.257 * red + 0.504 * green + 0.098 * blue
    u = 128 - 0.148 * red - 0.291 * green + 0.439 * blue
    v = 128 + 0.439 * red - 0.368 * green - 0.071 * blue
    pairs = np.empty((*luma.shape, 2))
    at = 0 if luma_first else 1
    pairs[:, :, at] = luma
    pairs[:, 0::2, 1 - at] = (u[:, 0::2] + u[:, 1::2]) / 2
    pairs[:, 1::2, 1 - at] = (v[:, 0::2] + v[:, 1::2]) / 2
    return np.clip(np.rint(pairs), 0, 255).astype(np.uint8).reshape(-1)
