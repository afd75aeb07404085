"""Agreeing with a camera on what it delivers."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from fcntl import ioctl
from fractions import Fraction

from arenite.converters.processing.specification.pixel_formats import planes_of
from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.sources.base import SourceLost
from arenite.host.camera.sources.v4l2_api import (
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
from arenite.host.camera.sources.v4l2_modes import RequestedMode, choose_mode, enumerate_modes


@dataclass(frozen=True)
class NegotiatedFormat:
    """``format``: of uncompressed frames; of mjpeg its pixels are ``mjpeg`` and its strides empty. ``areas``: memory
    areas per buffer; ``used``: bytes that a whole picture has in each."""

    card: str
    kind: int
    format: Format
    areas: int
    used: list[int]
    card_rate: bool  # the driver takes a rate


@dataclass(frozen=True)
class Capability:
    card: str
    driver: str
    bus: str
    kind: int  # CAPTURE, CAPTURE_MPLANE, or 0: no camera


def capability(device: int) -> Capability:
    """What the open ``device`` is."""
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


def negotiate_format(device: int, path: str, wish: RequestedMode) -> NegotiatedFormat:
    """Set the open ``device`` to the mode that serves the wish best.

    Raises ``UsageError`` for no camera, or one without a mode that can be read; ``SourceLost`` for one without a
    signal; ``OSError`` as the driver does.
    """
    has = capability(device)
    if not has.kind:
        raise UsageError(
            f"{path} ({has.card}) does not capture pictures by streaming.",
            "Cameras often have a second device for metadata: try the one before it.",
        )
    signal = _lock_signal(device, path)
    if signal is not None and not wish.width and not wish.height:
        wish = RequestedMode(*signal, wish.fps, wish.pixels)
    modes, unread = enumerate_modes(device, has.kind, wish)
    if not modes:
        raise UsageError(
            f"{path} ({has.card}) has no format that can be read, only {', '.join(unread) or 'none at all'}.",
            "A sensor without a signal processor needs one: use csi:N on a Jetson, libcamerasrc in gst:PIPELINE.",
        )
    mode = choose_mode(modes, wish)
    format = API.Format(type=has.kind)
    if has.kind == CAPTURE_MPLANE:
        pix = format.fmt.pix_mp
    else:
        pix = format.fmt.pix
    pix.width, pix.height, pix.pixelformat, pix.field = mode.width, mode.height, mode.code, FIELD_NONE
    ioctl(device, API.S_FMT, format, True)
    if pix.pixelformat not in PIXELS or pix.field in SPLIT_FIELDS:
        raise UsageError(
            f"{path} ({has.card}) was asked for {mode} and set itself to {fourcc_name(pix.pixelformat)} "
            f"{pix.width}x{pix.height}, fields {pix.field}, which cannot be read.",
            "Ask for another size or other pixels.",
        )
    fps, can = set_interval(device, has.kind, wish.fps or mode.fps)
    pixels, areas = PIXELS[pix.pixelformat]
    size = (pix.width, pix.height)
    if pixels == "mjpeg":
        return NegotiatedFormat(has.card, has.kind, Format(pixels, *size, (), fps), areas, [4], can)
    # Without gaps a plane has so many bytes per row, and so many rows.
    planes = planes_of(pixels, *size)
    row_bytes = (
        [pix.plane_fmt[k].bytesperline for k in range(areas)]
        if has.kind == CAPTURE_MPLANE
        else [pix.bytesperline]
    )
    strides = tuple(_strides([row for row, _ in planes], row_bytes))
    # The last row of some drivers ends with its last pixel, not with the stride.
    needed = [s * (n - 1) + row for s, (row, n) in zip(strides, planes, strict=True)]
    if areas < len(planes):
        needed = [sum(s * n for s, (_, n) in zip(strides[:-1], planes[:-1], strict=True)) + needed[-1]]
    return NegotiatedFormat(has.card, has.kind, Format(pixels, *size, strides, fps), areas, needed, can)


def _strides(rows: list[int], row_bytes: list[int]) -> list[int]:
    """Bytes from row to row of each plane. Of planes in one memory the driver tells the first one's; the others are in
    the proportion of their rows. 0 is what drivers without gaps may tell."""
    if len(row_bytes) == len(rows):
        return [stride or row for stride, row in zip(row_bytes, rows, strict=True)]
    first = row_bytes[0] or rows[0]
    return [first * row // rows[0] for row in rows]


def set_interval(device: int, kind: int, fps: float) -> tuple[float, bool]:
    """Ask for a rate (0: what it is now); the rate that holds (0: the driver does not tell) and whether it can be
    asked for. Raises ``OSError`` EBUSY where the driver does not change it while it streams."""
    parm = API.StreamParm(type=kind)
    try:
        ioctl(device, API.G_PARM, parm, True)
    except OSError as error:
        if error.errno in (errno.ENOTTY, errno.EINVAL):
            return 0.0, False
        raise
    capture = parm.parm.capture
    can = bool(capture.capability & CAP_TIMEPERFRAME)
    if fps and can:
        interval = 1 / max(Fraction(fps).limit_denominator(1001), Fraction(1, 1001))
        capture.timeperframe.numerator = interval.numerator
        capture.timeperframe.denominator = interval.denominator
        ioctl(device, API.S_PARM, parm, True)
    interval = capture.timeperframe
    return (interval.denominator / interval.numerator if interval.numerator else 0.0), can


def _lock_signal(device: int, path: str) -> tuple[int, int] | None:
    """An input such as HDMI has the timings of what is plugged in, with a width and a height; a camera has none."""
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
