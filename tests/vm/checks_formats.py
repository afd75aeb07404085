"""Checks of every format of the virtual camera: colors, planes, and exported memory."""

from __future__ import annotations

import mmap
from typing import Any

from arenite.host.camera.sources.v4l2 import api
from arenite.host.camera.sources.v4l2.modes import RequestedMode
from arenite.host.camera.sources.v4l2.source import V4l2Camera
from tests.vm import vivid
from tests.vm.frame_checks import check, every_format, take


@check
def single_plane_formats_have_the_right_colors() -> Any:
    return every_format(
        vivid.WEBCAM,
        ("yuyv", "uyvy", "nv12", "nv21", "yu12", "yv12", "grey", "rgb", "bgr", "rgb565", "rgba", "bgra"),
    )


@check
def multi_plane_formats_have_the_right_colors() -> Any:
    return every_format(vivid.PLANES, ("yuyv", "nv12", "grey", "rgb"))


@check
def planes_in_separate_memory_have_the_right_colors() -> Any:
    """Read NV12M and similar formats, whose planes are in separate memory areas. The formats with all planes in one
    memory area are removed from the table first, so that the source does not choose them."""
    formats: dict[str, Any] = {}
    for pixels, single in (("nv12", "NV12"), ("nv21", "NV21"), ("yu12", "YU12"), ("yv12", "YV12")):
        code = api.fourcc(single)
        saved = api.PIXELS.pop(code)
        try:
            source = V4l2Camera(vivid.PLANES, RequestedMode(640, 360, 30.0, pixels))
            source.open()
            frame = take(source)
            gap = frame.planes[1] - frame.planes[0]
            assert gap != frame.format.strides[0] * frame.format.height, "the planes are adjacent"
            frame.release()
            source.close()
            formats |= every_format(vivid.PLANES, (pixels,))
        finally:
            api.PIXELS[code] = saved
    return formats


@check
def exported_memory_equals_the_mapped_memory() -> Any:
    vivid.set_control(vivid.WEBCAM, "Test Pattern", vivid.BARS)
    source = V4l2Camera(vivid.WEBCAM, RequestedMode(640, 360, 30.0, "yuyv"))
    source.open()
    frame = take(source, 5)
    size = frame.format.strides[0] * frame.format.height
    assert frame.dmabuf is not None
    with mmap.mmap(frame.dmabuf, size, mmap.MAP_SHARED, mmap.PROT_READ) as exported:
        is_equal = bytes(exported) == frame.rows().tobytes()
    assert is_equal and len(set(frame.rows().tobytes())) > 8
    frame.release()
    source.close()
    return {"bytes": size}
