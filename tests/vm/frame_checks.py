"""Helper functions of the checks inside the emulated PC."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from arenite.converters.processing.specification.pixel_formats import planes_of, unpack
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.reconnect import ReconnectingSource
from arenite.host.camera.sources.v4l2.modes import RequestedMode
from arenite.host.camera.sources.v4l2.source import V4l2Camera
from tests.vm import vivid

CHECKS: list[Callable[[], Any]] = []
RGB = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "white": (255, 255, 255)}


def check(function: Callable[[], Any]) -> Callable[[], Any]:
    """Add ``function`` to ``CHECKS``, and return it. This is a decorator."""
    CHECKS.append(function)
    return function


def packed(frame: Frame) -> np.ndarray:
    """Return the bytes of all planes of the frame, without the gaps at the ends of the rows, as a uint8 array."""
    f = frame.format
    rows = [row for row, _ in planes_of(f.pixels, f.width, f.height)]
    return np.concatenate([frame.rows(k)[:, :row].reshape(-1) for k, row in enumerate(rows)])


def rgb(frame: Frame) -> np.ndarray:
    """Return the pixels of a frame, uint8 [height][width][3], or [height][width][1] if the frame is grey."""
    f = frame.format
    picture = unpack(packed(frame), f.pixels, f.width, f.height)
    return picture[:, :, ::-1] if f.pixels in ("bgr", "bgra") else picture


def take(source: V4l2Camera | ReconnectingSource, count: int = 1, timeout_s: float = 60.0) -> Frame:
    """Read ``count`` frames, release all but the last frame, and return the last frame."""
    while True:
        frame = source.read(timeout_s)
        assert frame is not None, f"{source.name} sent nothing for {timeout_s} s"
        count -= 1
        if count <= 0:
            return frame
        frame.release()


def check_color(source: V4l2Camera, path: str, color: str) -> None:
    """Show a picture of one color, and check that every pixel of a frame has this color."""
    vivid.set_control(path, "Test Pattern", vivid.COLORS[color])
    frame = take(source, 4)  # frames that were queued before still have the old picture
    picture = rgb(frame)[8:-8, 8:-8].reshape(-1, rgb(frame).shape[2]).astype(int)
    if frame.format.pixels == "grey":
        weight = {"red": 76, "green": 150, "blue": 29, "white": 255}[color]
        expected: tuple[int, ...] = (weight,)
    else:
        expected = RGB[color]
    error = np.abs(picture - np.array(expected)).max()
    # Up to 24 levels of error come from the video range, chroma that two pixels share, and the five bits of RGB565. In
    # the format "grey", the camera computes grey with another matrix.
    assert error <= 24 or (frame.format.pixels == "grey" and error <= 70), (
        frame.format,
        color,
        picture[0].tolist(),
    )
    frame.release()


def every_format(path: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Check the colors of a camera in each pixel format. Return figures of each format, by name."""
    formats = {}
    for pixels in names:
        source = V4l2Camera(path, RequestedMode(640, 360, 30.0, pixels))
        format = source.open()
        try:
            assert (format.pixels, format.width, format.height) == (pixels, 640, 360), format
            for color in RGB:
                check_color(source, path, color)
            frame = take(source)
            assert frame.dmabuf is not None
            formats[pixels] = {
                "strides": format.strides,
                "fps": format.fps,
                "missed": source.counters.dropped,
            }
            frame.release()
        finally:
            source.close()
    return formats


def wait_for(path: str, seconds: float = 20.0) -> None:
    """Wait until ``path`` exists, but no longer than ``seconds``."""
    import os

    end = time.monotonic() + seconds
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.05)


def vars_of(counters: Any) -> dict[str, int]:
    """Return the counters of a source, by name."""
    return {name: getattr(counters, name) for name in ("captured", "dropped", "errors", "reconnects")}
