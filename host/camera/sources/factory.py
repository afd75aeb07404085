"""Create the source of frames that the option ``--source`` names."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arenite.errors import UsageError
from arenite.host.camera.sources.base import Source
from arenite.host.camera.sources.file_suffixes import PICTURE_SUFFIXES, VIDEO_SUFFIXES
from arenite.host.camera.sources.redaction import redacted

if TYPE_CHECKING:
    from arenite.host.camera.sources.latest_frame import PictureStream

#: The texts that name a source, for the hint of an error.
SOURCE_HINT = (
    "/dev/videoN, a video file, a folder or pattern of pictures, rtsp://…, gst:PIPELINE, csi:N, photos, synthetic "
    "or auto"
)
#: The format of generated frames if none is requested.
WIDTH, HEIGHT, FPS, PIXELS = 1280, 720, 30.0, "yuyv"
PACES = ("auto", "live", "file")
NETWORK_SCHEMES = ("rtsp://", "rtsps://", "rtmp://", "http://", "https://", "udp://", "tcp://", "srt://")


@dataclass(frozen=True)
class _SourceRequest:
    """The arguments of ``open_source``."""

    width: int | None
    height: int | None
    fps: float | None
    pixels: str | None
    pace: str
    loop: bool
    index: int
    min_size: tuple[int, int] | None
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
    min_size: tuple[int, int] | None = None,
    buffers: int = 4,
    on_message: Callable[[str], None] | None = None,
) -> Source:
    """Return the source that ``spec`` names. Call ``open`` of the source to start it.

    Args:
        spec: a source in one of the forms of ``SOURCE_HINT``.
        width, height, fps, pixels: the requested mode. A camera uses its mode that fits the request best.
        pace: ``live`` plays at the source's rate and drops late frames; ``file`` delivers every frame on request;
            ``auto`` is ``file`` for files and ``live`` for all other sources.
        loop: whether a recording starts again when it ends.
        index: the index of the camera, if there are several cameras.
        min_size: the minimum width and height. A camera's JPEG pictures are decoded at a reduced size
            if it is not smaller than this. None: at their full size.
        buffers: the number of a camera's buffers: the number of frames that are held at the same time, plus two.
        on_message: called with a sentence when a camera is lost, when it is back, and when ``auto`` has chosen a
            source.

    Cameras and streams that are lost are opened again (``ReconnectingSource``). Raises ``UsageError`` if ``spec`` does
    not name a source.
    """
    if pace not in PACES:
        raise UsageError(f"'{pace}' is not a pace.", f"Give one of {', '.join(PACES)}.")
    request = _SourceRequest(width, height, fps, pixels, pace, loop, index, min_size, buffers, on_message)
    if spec == "auto":
        return _open_auto(request)
    if spec in ("synthetic", "photos"):
        return _open_generated(spec, request)
    if spec.startswith(("gst:", "csi:")):
        return _open_gstreamer(spec, request)
    if spec.startswith(NETWORK_SCHEMES):
        from arenite.host.camera.sources.video import NetworkStream

        return _open_stream(NetworkStream(spec, name=redacted(spec)), request)
    if spec.startswith("/dev/") or re.fullmatch(r"\d+", spec) or _is_device(spec):
        return _open_camera(f"/dev/video{spec}" if spec.isdigit() else spec, request)
    return _open_file(spec, request)


def _open_auto(request: _SourceRequest) -> Source:
    """Return the first camera that captures pictures; if there is none, the photographs; if they are not available, the
    synthetic pattern. Report the choice."""
    on_message = request.on_message or (lambda _: None)
    unusable = []
    devices = os.listdir("/dev") if os.path.isdir("/dev") else []
    if any(name.startswith("video") for name in devices):  # otherwise V4L2 need not be imported
        from arenite.host.camera.sources.v4l2.discovery import list_cameras

        for camera in list_cameras():
            if camera.captures:
                on_message(f"The source is {camera}.")
                return _open_camera(camera.path, request)
            unusable.append(str(camera))
    no_camera = f"no camera ({', '.join(unusable) or 'no /dev/video*'})"
    from arenite.host.camera.sources.photos import unavailable_reason

    problem = unavailable_reason(request.pixels or PIXELS, request.width or WIDTH, request.height or HEIGHT)
    if problem:
        on_message(
            f"There is {no_camera}, and the photographs are not available: {problem} The source is a synthetic pattern."
        )
        return _open_generated("synthetic", request)
    on_message(f"There is {no_camera}: the source is photographs, panned and zoomed.")
    return _open_generated("photos", request)


def _open_generated(spec: str, request: _SourceRequest) -> Source:
    from arenite.host.camera.sources.paced import FrameGenerator, PacedSource

    size = (request.pixels or PIXELS, request.width or WIDTH, request.height or HEIGHT, request.fps or FPS)
    generator: FrameGenerator
    if spec == "synthetic":
        from arenite.host.camera.sources.synthetic import SyntheticPattern

        generator = SyntheticPattern(*size)
    else:
        from arenite.host.camera.sources.photos import PhotoGenerator

        generator = PhotoGenerator(*size)
    return PacedSource(generator, live=request.pace != "file", index=request.index)


def _open_camera(path: str, request: _SourceRequest) -> Source:
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        from arenite.host.camera.sources.v4l2.discovery import cameras_sentence

        raise UsageError(
            f"There is no camera {path}.", f"{cameras_sentence()} `photos` and `synthetic` need no camera."
        ) from error
    if not stat.S_ISCHR(mode):
        raise UsageError(f"{path} is not a device.", f"Give {SOURCE_HINT}.")
    from arenite.host.camera.sources.reconnect import ReconnectingSource
    from arenite.host.camera.sources.v4l2.modes import RequestedMode
    from arenite.host.camera.sources.v4l2.source import V4l2Camera

    mode_request = RequestedMode(request.width, request.height, request.fps, request.pixels)
    return ReconnectingSource(
        V4l2Camera(
            path, mode_request, buffers=request.buffers, min_size=request.min_size, index=request.index
        ),
        on_message=request.on_message,
    )


def _open_gstreamer(spec: str, request: _SourceRequest) -> Source:
    from arenite.host.camera.sources.gstreamer import csi_pipeline, open_pipeline

    kind, _, rest = spec.partition(":")
    if kind == "csi":
        if not rest.isdigit():
            raise UsageError(f"'{spec}' is not the name of a CSI camera.", "Give csi:0 for the first one.")
        size = (request.width or WIDTH, request.height or HEIGHT, request.fps or FPS)
        return _open_stream(
            open_pipeline(csi_pipeline(int(rest), *size, request.pixels or "nv12"), spec), request
        )
    if not rest.strip():
        raise UsageError("'gst:' needs a pipeline.", "For example: gst:videotestsrc is-live=true")
    return _open_stream(open_pipeline(rest.strip(), None), request)


def _open_stream(stream: PictureStream, request: _SourceRequest) -> Source:
    from arenite.host.camera.sources.latest_frame import LatestFrameSource
    from arenite.host.camera.sources.reconnect import ReconnectingSource

    return ReconnectingSource(LatestFrameSource(stream, index=request.index), on_message=request.on_message)


def _open_file(spec: str, request: _SourceRequest) -> Source:
    live = request.pace == "live"
    ending = os.path.splitext(spec)[1].lower()
    if os.path.isfile(spec) and (ending in VIDEO_SUFFIXES or ending not in PICTURE_SUFFIXES):
        from arenite.host.camera.sources.recording import Recording, map_raw_video
        from arenite.host.camera.sources.video import VideoFile

        raw = ending in (".avi", ".y4m") and map_raw_video(spec)[0] is not None
        return (Recording if raw else VideoFile)(
            spec, live=live, loop=request.loop, fps=request.fps, index=request.index
        )
    from arenite.host.camera.sources.picture_folder import PictureFolder, pictures_of

    if os.path.isdir(spec) or pictures_of(spec):
        pixels = request.pixels or "rgb"
        return PictureFolder(
            spec, live=live, loop=request.loop, fps=request.fps, pixels=pixels, index=request.index
        )
    if ending in VIDEO_SUFFIXES + PICTURE_SUFFIXES or any(c in spec for c in "/*?"):
        raise UsageError(
            f"There is no file {spec}.", "Check the path; a pattern must match at least one picture."
        )
    raise UsageError(f"There is no source '{spec}'.", f"Give {SOURCE_HINT}.")


def _is_device(spec: str) -> bool:
    try:
        return stat.S_ISCHR(os.stat(spec).st_mode)
    except OSError:
        return False
