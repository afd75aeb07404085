"""Decode compressed pictures with Pillow or OpenCV, whichever is installed."""

from __future__ import annotations

import io
import os

import numpy as np

from arenite.converters.processing.picture_files import MAX_PIXELS, open_picture
from arenite.errors import UsageError


def decode_picture(data: bytes, order: str, name: str) -> np.ndarray:
    """Decode the content ``data`` of a PNG, JPEG, BMP or similar file to uint8, shape (height, width, 3).

    ``order`` is the order of the channels, "rgb" or "bgr"; ``name`` is for error messages. Raises ``UsageError`` if the
    data is not a picture, or if neither package is installed.
    """
    try:
        import PIL  # noqa: F401
    except ImportError:
        return _decode_with_opencv(data, order, name)
    try:
        with open_picture(io.BytesIO(data)) as picture:
            rgb = np.asarray(picture.convert("RGB"))
    except Exception as error:  # each of Pillow's formats has its own errors for malformed files
        raise _damage_error(name, str(error)) from error
    return rgb if order == "rgb" else np.ascontiguousarray(rgb[:, :, ::-1])


def _decode_with_opencv(data: bytes, order: str, name: str) -> np.ndarray:
    # OpenCV reads its limit of pixels when it is imported. Its default is a thousand times larger than this limit.
    os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(MAX_PIXELS))
    try:
        import cv2
    except ImportError as error:
        raise UsageError(
            f"{name} is a picture, but neither Pillow nor OpenCV is installed.",
            "Install the extra: pip install 'arenite[images]'.",
        ) from error
    try:
        bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:  # the data is empty, or the picture is too large
        raise _damage_error(name, str(error).strip()) from error
    if bgr is None:
        raise _damage_error(name, "OpenCV cannot decode it")
    return bgr if order == "bgr" else np.ascontiguousarray(bgr[:, :, ::-1])


def _damage_error(name: str, reason: str) -> UsageError:
    return UsageError(f"{name} is not a picture that can be read: {reason}.", "Give PNG or JPEG files.")
