"""What ``--source`` names, as a source that is not yet open."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arenite.errors import UsageError
from arenite.host.camera.sources.base import Source
from arenite.host.camera.sources.redaction import redacted

if TYPE_CHECKING:
    from arenite.host.camera.sources.latest_frame import PictureStream

#: What can be named, for the hint of an error.
SOURCE_HINT = (
    "/dev/videoN, a video file, a folder or pattern of pictures, rtsp://…, gst:PIPELINE, csi:N, photos, synthetic "
    "or auto"
)
#: What is made up where nothing is asked for.
WIDTH, HEIGHT, FPS, PIXELS = 1280, 720, 30.0, "yuyv"
PACES = ("auto", "live", "file")
NETWORK_SCHEMES = ("rtsp://", "rtsps://", "rtmp://", "http://", "https://", "udp://", "tcp://", "srt://")
VIDEO_SUFFIXES = (
    ".mp4",
    ".avi",
    ".mkv",
    ".mov",
    ".webm",
    ".m4v",
    ".mpg",
    ".mpeg",
    ".ts",
    ".y4m",
    ".mjpeg",
    ".mjpg",
    ".3gp",
)
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm", ".pgm", ".tif", ".tiff", ".gif")


@dataclass(frozen=True)
class _SourceRequest:
    width: int | None
    height: int | None
    fps: float | None
    pixels: str | None
    pace: str
    loop: bool
    index: int
    least: tuple[int, int] | None
    buffers: int
    on_message: Callable[[str], None] | None


def open_source(
    spec: str,
    *,
    width: int | None = None,
    height: int | None = None,
    fps: float | None = None,
    pixels: str | None = None,
    pace: str = "auto",
    loop: bool = False,
    index: int = 0,
    least: tuple[int, int] | None = None,
    buffers: int = 4,
    on_message: Callable[[str], None] | None = None,
) -> Source:
    """The source that ``spec`` names; ``open`` starts it.

    ``width``, ``height``, ``fps``, ``pixels``: wishes, which a camera meets as well as it can. ``pace``: ``live`` is at
    its own rate, late frames are dropped; ``file`` hands out every frame as soon as it is asked for; ``auto`` is
    ``file`` for files, else ``live``. ``loop``: a recording starts again at its end. ``index``: which camera, with
    several. ``least``: a width and height that suffice: JPEG may be decoded at a fraction of its size that has them.
    ``buffers``: of a camera; two more than frames that are held at a time.
    ``on_message``: is given a sentence when a camera goes or comes back, and when ``auto`` has chosen.

    Cameras and streams are opened again when they are lost (``ReconnectingSource``). Raises ``UsageError`` for what
    names nothing.
    """
    if pace not in PACES:
        raise UsageError(f"There is no pace '{pace}'.", f"Give one of {', '.join(PACES)}.")
    asked = _SourceRequest(width, height, fps, pixels, pace, loop, index, least, buffers, on_message)
    if spec == "auto":
        return _auto(asked)
    if spec in ("synthetic", "photos"):
        return _made_up(spec, asked)
    if spec.startswith(("gst:", "csi:")):
        return _gstreamer(spec, asked)
    if spec.startswith(NETWORK_SCHEMES):
        from arenite.host.camera.sources.video import NetworkStream

        return _stream(NetworkStream(spec, name=redacted(spec)), asked)
    if spec.startswith("/dev/") or re.fullmatch(r"\d+", spec) or _is_device(spec):
        return _camera(f"/dev/video{spec}" if spec.isdigit() else spec, asked)
    return _file(spec, asked)


def _auto(asked: _SourceRequest) -> Source:
    """The first camera that captures, else the photographs, else the pattern; says so."""
    on_message = asked.on_message or (lambda _: None)
    why = []
    devices = os.listdir("/dev") if os.path.isdir("/dev") else []
    if any(name.startswith("video") for name in devices):  # else nothing of V4L2 needs to be imported
        from arenite.host.camera.sources.v4l2_discovery import list_cameras

        for camera in list_cameras():
            if camera.captures:
                on_message(f"The source is {camera}.")
                return _camera(camera.path, asked)
            why.append(str(camera))
    none = f"no camera ({', '.join(why) or 'no /dev/video*'})"
    from arenite.host.camera.sources.photos import unavailable

    problem = unavailable(asked.pixels or PIXELS, asked.width or WIDTH, asked.height or HEIGHT)
    if problem:
        on_message(
            f"There is {none}, and the photographs are not there: {problem} The source is a synthetic pattern."
        )
        return _made_up("synthetic", asked)
    on_message(f"There is {none}: the source is photographs, panned and zoomed.")
    return _made_up("photos", asked)


def _made_up(spec: str, asked: _SourceRequest) -> Source:
    from arenite.host.camera.sources.paced import FrameGenerator, PacedSource

    size = (asked.pixels or PIXELS, asked.width or WIDTH, asked.height or HEIGHT, asked.fps or FPS)
    maker: FrameGenerator
    if spec == "synthetic":
        from arenite.host.camera.sources.synthetic import SyntheticPattern

        maker = SyntheticPattern(*size)
    else:
        from arenite.host.camera.sources.photos import PhotoGenerator

        maker = PhotoGenerator(*size)
    return PacedSource(maker, live=asked.pace != "file", index=asked.index)


def _camera(path: str, asked: _SourceRequest) -> Source:
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        from arenite.host.camera.sources.v4l2_discovery import cameras_sentence

        raise UsageError(
            f"There is no camera {path}.", f"{cameras_sentence()} `photos` and `synthetic` need none."
        ) from error
    if not stat.S_ISCHR(mode):
        raise UsageError(f"{path} is no device.", f"Give {SOURCE_HINT}.")
    from arenite.host.camera.sources.reconnect import ReconnectingSource
    from arenite.host.camera.sources.v4l2 import V4l2Camera
    from arenite.host.camera.sources.v4l2_modes import RequestedMode

    wish = RequestedMode(asked.width, asked.height, asked.fps, asked.pixels)
    return ReconnectingSource(
        V4l2Camera(path, wish, buffers=asked.buffers, least=asked.least, index=asked.index),
        on_message=asked.on_message,
    )


def _gstreamer(spec: str, asked: _SourceRequest) -> Source:
    from arenite.host.camera.sources.gstreamer import csi_pipeline, stream

    kind, _, rest = spec.partition(":")
    if kind == "csi":
        if not rest.isdigit():
            raise UsageError(f"'{spec}' names no CSI camera.", "Give csi:0 for the first one.")
        size = (asked.width or WIDTH, asked.height or HEIGHT, asked.fps or FPS)
        return _stream(stream(csi_pipeline(int(rest), *size, asked.pixels or "nv12"), spec), asked)
    if not rest.strip():
        raise UsageError("'gst:' names no pipeline.", "For example: gst:videotestsrc is-live=true")
    return _stream(stream(rest.strip(), None), asked)


def _stream(stream: PictureStream, asked: _SourceRequest) -> Source:
    from arenite.host.camera.sources.latest_frame import LatestFrameSource
    from arenite.host.camera.sources.reconnect import ReconnectingSource

    return ReconnectingSource(LatestFrameSource(stream, index=asked.index), on_message=asked.on_message)


def _file(spec: str, asked: _SourceRequest) -> Source:
    live = asked.pace == "live"
    ending = os.path.splitext(spec)[1].lower()
    if os.path.isfile(spec) and (ending in VIDEO_SUFFIXES or ending not in PICTURE_SUFFIXES):
        from arenite.host.camera.sources.recording import Recording, map_raw_video
        from arenite.host.camera.sources.video import VideoFile

        raw = ending in (".avi", ".y4m") and map_raw_video(spec)[0] is not None
        return (Recording if raw else VideoFile)(
            spec, live=live, loop=asked.loop, fps=asked.fps, index=asked.index
        )
    from arenite.host.camera.sources.picture_folder import PictureFolder, pictures_of

    if os.path.isdir(spec) or pictures_of(spec):
        pixels = asked.pixels or "rgb"
        return PictureFolder(
            spec, live=live, loop=asked.loop, fps=asked.fps, pixels=pixels, index=asked.index
        )
    if ending in VIDEO_SUFFIXES + PICTURE_SUFFIXES or any(c in spec for c in "/*?"):
        raise UsageError(f"There is no file {spec}.", "Check the path; a pattern must match a picture.")
    raise UsageError(f"There is no source '{spec}'.", f"Give {SOURCE_HINT}.")


def _is_device(spec: str) -> bool:
    try:
        return stat.S_ISCHR(os.stat(spec).st_mode)
    except OSError:
        return False
