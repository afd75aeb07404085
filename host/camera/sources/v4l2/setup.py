"""Negotiate the format and the frame rate with the driver of a camera."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from fractions import Fraction

from arenite.converters.processing.specification.pixel_formats import planes_of
from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.base import SourceLost
from arenite.host.camera.sources.v4l2.api import (
    API,
    CAP_CAPTURE,
    CAP_CAPTURE_MPLANE,
    CAP_DEVICE_CAPS,
    CAP_STREAMING,
    CAP_TIMEPERFRAME,
    CAPTURE,
    CAPTURE_MPLANE,
    FIELD_NONE,
    PIXELS,
    SPLIT_FIELDS,
    fourcc_name,
)
from arenite.host.camera.sources.v4l2.ioctl import ioctl
from arenite.host.camera.sources.v4l2.modes import RequestedMode, choose_mode, enumerate_modes


@dataclass(frozen=True)
class NegotiatedFormat:
    """The result of a negotiation. For compressed frames, ``format.pixels`` is ``mjpeg`` and ``format`` has no strides.
    ``areas`` is the number of memory areas per buffer, and ``used`` has the number of bytes that a complete picture has
    in each area. ``card`` is the driver's name of the camera, and ``kind`` is ``CAPTURE`` or ``CAPTURE_MPLANE``."""

    card: str
    kind: int
    format: Format
    areas: int
    used: list[int]
    sets_rate: bool  # whether the driver can set the frame rate


@dataclass(frozen=True)
class Capability:
    """The names of a device, its driver and its bus, and the kind of the device."""

    card: str
    driver: str
    bus: str
    kind: int  # CAPTURE, CAPTURE_MPLANE, or 0 if it is not a camera


def capability(device: int) -> Capability:
    """Return the names and the kind of the open ``device``. Raises ``OSError``."""
    capability_struct = API.Capability()
    ioctl(device, API.QUERYCAP, capability_struct, True)
    flags = (
        capability_struct.device_caps
        if capability_struct.capabilities & CAP_DEVICE_CAPS
        else capability_struct.capabilities
    )
    kind = 0
    if flags & CAP_STREAMING:
        kind = CAPTURE if flags & CAP_CAPTURE else CAPTURE_MPLANE if flags & CAP_CAPTURE_MPLANE else 0
    card, driver, bus = (
        field.decode("utf-8", "replace")
        for field in (capability_struct.card, capability_struct.driver, capability_struct.bus_info)
    )
    return Capability(card, driver, bus, kind)


def negotiate_format(device: int, path: str, request: RequestedMode) -> NegotiatedFormat:
    """Set the open ``device`` to the mode that fits the request best.

    Raises ``UsageError`` if the device is not a camera or has no supported mode, ``SourceLost`` if it has no signal,
    and ``OSError``. ``path`` is for error messages.
    """
    camera = capability(device)
    if not camera.kind:
        raise UsageError(
            f"{path} ({camera.card}) does not capture pictures by streaming.",
            "Cameras often have a second device for metadata; try the device before this one.",
        )
    signal = _lock_signal(device, path)
    if signal is not None and not request.width and not request.height:
        request = RequestedMode(*signal, request.fps, request.pixels)
    modes, unsupported = enumerate_modes(device, camera.kind, request)
    if not modes:
        raise UsageError(
            f"{path} ({camera.card}) has no supported format, only {', '.join(unsupported) or 'none at all'}.",
            "A raw sensor needs an image processor: use csi:N on a Jetson, or libcamerasrc in gst:PIPELINE.",
        )
    mode = choose_mode(modes, request)
    format = API.Format(type=camera.kind)
    if camera.kind == CAPTURE_MPLANE:
        pix = format.fmt.pix_mp
    else:
        pix = format.fmt.pix
    pix.width, pix.height, pix.pixelformat, pix.field = mode.width, mode.height, mode.code, FIELD_NONE
    ioctl(device, API.S_FMT, format, True)
    if pix.pixelformat not in PIXELS or pix.field in SPLIT_FIELDS:
        raise UsageError(
            f"{path} ({camera.card}) was requested to deliver {mode}, but chose {fourcc_name(pix.pixelformat)} "
            f"{pix.width}x{pix.height}, fields {pix.field}, which is not supported.",
            "Request another size or another pixel format.",
        )
    fps, sets_rate = set_interval(device, camera.kind, request.fps or mode.fps)
    pixels, areas = PIXELS[pix.pixelformat]
    size = (pix.width, pix.height)
    if pixels == "mjpeg":
        # A complete picture has at least the start marker and the end marker of JPEG, two bytes each.
        return NegotiatedFormat(
            camera.card, camera.kind, Format(pixels, *size, (), fps), areas, [4], sets_rate
        )
    # (bytes per row, number of rows) of each plane, without gaps.
    planes = planes_of(pixels, *size)
    row_bytes = (
        [pix.plane_fmt[k].bytesperline for k in range(areas)]
        if camera.kind == CAPTURE_MPLANE
        else [pix.bytesperline]
    )
    strides = tuple(_strides([row for row, _ in planes], row_bytes))
    # With some drivers, a picture ends after the last pixel of its last row, and not after the stride of that row.
    needed = [s * (n - 1) + row for s, (row, n) in zip(strides, planes, strict=True)]
    if areas < len(planes):
        needed = [sum(s * n for s, (_, n) in zip(strides[:-1], planes[:-1], strict=True)) + needed[-1]]
    return NegotiatedFormat(
        camera.card, camera.kind, Format(pixels, *size, strides, fps), areas, needed, sets_rate
    )


def _strides(rows: list[int], row_bytes: list[int]) -> list[int]:
    """Return the stride of each plane: the number of bytes from one row to the next.

    ``rows`` has the bytes per row of each plane without gaps, and ``row_bytes`` the strides that the driver reports.
    For planes in one memory area, the driver reports only the first stride; the other strides are proportional to the
    bytes per row. A driver whose rows have no gaps may report 0.
    """
    if len(row_bytes) == len(rows):
        return [stride or row for stride, row in zip(row_bytes, rows, strict=True)]
    first = row_bytes[0] or rows[0]
    return [first * row // rows[0] for row in rows]


def set_interval(device: int, kind: int, fps: float) -> tuple[float, bool]:
    """Request a frame rate; with 0, only read the present rate. Return the rate that is used (0 if the driver does not
    report it), and whether the driver can set a rate. Raises ``OSError`` with EBUSY if the driver cannot change the
    rate while it streams."""
    parm = API.StreamParm(type=kind)
    try:
        ioctl(device, API.G_PARM, parm, True)
    except OSError as error:
        if error.errno in (errno.ENOTTY, errno.EINVAL):
            return 0.0, False
        raise
    capture = parm.parm.capture
    sets_rate = bool(capture.capability & CAP_TIMEPERFRAME)
    if fps and sets_rate:
        interval = 1 / max(Fraction(fps).limit_denominator(1001), Fraction(1, 1001))
        capture.timeperframe.numerator = interval.numerator
        capture.timeperframe.denominator = interval.denominator
        ioctl(device, API.S_PARM, parm, True)
    interval = capture.timeperframe
    return (interval.denominator / interval.numerator if interval.numerator else 0.0), sets_rate


def _lock_signal(device: int, path: str) -> tuple[int, int] | None:
    """Set an input such as HDMI to the timings of its signal, and return the signal's width and height. Return None for
    a camera, which has no timings. Raises ``SourceLost`` if there is no signal."""
    timings = API.DvTimings()
    try:
        ioctl(device, API.QUERY_DV_TIMINGS, timings, True)
        ioctl(device, API.S_DV_TIMINGS, timings, True)
        return timings.bt[0], timings.bt[1]
    except OSError as error:
        if error.errno in (errno.ENOLINK, errno.ENOLCK, errno.ERANGE):
            raise SourceLost(f"{path} has no signal that it can lock to.", "Check the cable.") from error
        if error.errno not in (errno.ENOTTY, errno.ENODATA, errno.EINVAL):
            raise
    return None
