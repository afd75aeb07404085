"""List the modes of a camera, and choose the mode that fits a request best."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Any

from arenite.errors import UsageError
from arenite.host.camera.sources.v4l2.api import (
    API,
    INTERVAL_DISCRETE,
    PIXELS,
    SIZE_DISCRETE,
    fourcc_name,
)
from arenite.host.camera.sources.v4l2.ioctl import ioctl

#: The pixel formats in the order of preference, for modes with equal rate and size. The formats that are cheapest to
#: read come first; mjpeg, which must be decoded, comes last.
PREFERENCE = (
    *(
        "yuyv",
        "nv12",
        "uyvy",
        "grey",
        "rgb",
        "bgr",
        "nv21",
        "yu12",
        "yv12",
        "rgb565",
        "rgba",
        "bgra",
        "mjpeg",
    ),
)
#: The mode that is preferred if the user requests no mode. ``ENOUGH_RATE`` is the share of the requested rate that is
#: sufficient.
WIDTH, HEIGHT, FPS, ENOUGH_RATE = 1280, 720, 30.0, 0.8
#: The formats to which mjpeg can be decoded.
DECODED = ("rgb", "bgr", "grey")


@dataclass(frozen=True)
class RequestedMode:
    """A requested mode. A field is None if any value is acceptable."""

    width: int | None = None
    height: int | None = None
    fps: float | None = None
    pixels: str | None = None


@dataclass(frozen=True)
class Mode:
    """A mode of a camera. ``code`` is the driver's code of the format. ``fps`` is the frame rate of the mode that fits
    the request best; 0 if the driver does not report rates."""

    code: int
    width: int
    height: int
    fps: float

    @property
    def pixels(self) -> str:
        return PIXELS[self.code][0]

    def __str__(self) -> str:
        rate = f" at {self.fps:g} fps" if self.fps else ""
        return f"{self.pixels} {self.width}x{self.height}{rate}"


def choose_mode(modes: list[Mode], request: RequestedMode) -> Mode:
    """Return the mode that fits the request best. Raises ``UsageError`` if no mode has the requested pixel format."""
    matching = [m for m in modes if request.pixels in (None, m.pixels) or _decodable(m, request)]
    if not matching:
        available = ", ".join(sorted({m.pixels for m in modes})) or "no supported format"
        raise UsageError(
            f"The camera has no {request.pixels or 'supported pixel format'}; it has {available}.",
            "Request another pixel format, or none.",
        )
    return min(matching, key=lambda mode: _cost(mode, request))


def _decodable(mode: Mode, request: RequestedMode) -> bool:
    return mode.pixels == "mjpeg" and request.pixels in DECODED


def _cost(mode: Mode, request: RequestedMode) -> tuple[float, ...]:
    """Return a sort key; the smallest key is the best mode. A requested size has the highest priority. If no size was
    requested, a small picture that is uncompressed and fast is preferred to a large picture that is compressed or slow.
    Compressed modes are chosen only if no other mode has the size or the rate."""
    wide, high = request.width or WIDTH, request.height or HEIGHT
    scale = [log(mode.width / wide), log(mode.height / high)]
    # A picture that is too small lacks detail, but a picture that is too large only takes longer.
    size = sum(-2 * part if part < 0 else part for part in scale)
    rate = request.fps or FPS
    slow = max(0.0, ENOUGH_RATE - mode.fps / rate) if mode.fps else 0.0
    packed = float(mode.pixels == "mjpeg")
    size_requested = request.width or request.height
    preference = float(PREFERENCE.index(mode.pixels))
    return (size, slow, packed, preference) if size_requested else (slow, packed, size, preference)


def enumerate_modes(device: int, kind: int, request: RequestedMode) -> tuple[list[Mode], list[str]]:
    """Return all supported modes of the open ``device``, and the names of formats that are not supported."""
    modes: list[Mode] = []
    unsupported: list[str] = []
    for description in _enumerate(device, API.ENUM_FMT, API.FmtDesc, type=kind):
        code = description.pixelformat
        if code not in PIXELS:
            unsupported.append(fourcc_name(code))
            continue
        for width, height in _sizes(device, code, request):
            modes.append(Mode(code, width, height, _rate(device, code, width, height, request.fps or FPS)))
    return modes, unsupported


def _enumerate(device: int, request: int, struct: type, **fields: int) -> Iterator[Any]:
    """Yield the entries that the driver lists for an ioctl of enumeration. ``fields`` are fields of its structure."""
    for index in range(256):
        item = struct(index=index, **fields)
        try:
            ioctl(device, request, item, True)
        except OSError as error:
            # A driver that cannot list anything returns ENOTTY; its formats may work nevertheless.
            if error.errno in (errno.EINVAL, errno.ENOTTY, errno.ENODATA):
                return
            raise
        yield item


def _sizes(device: int, code: int, request: RequestedMode) -> list[tuple[int, int]]:
    """Return the sizes of a format, or the size nearest to the request if the driver supports a range of sizes."""
    wide, high = request.width or WIDTH, request.height or HEIGHT
    listed_sizes = []
    for item in _enumerate(device, API.ENUM_FRAMESIZES, API.FrmSizeEnum, pixel_format=code):
        sizes = getattr(item, "is")
        if item.type != SIZE_DISCRETE:
            s = sizes.stepwise
            return [
                (
                    _stepped(wide, s.min_width, s.max_width, s.step_width),
                    _stepped(high, s.min_height, s.max_height, s.step_height),
                )
            ]
        if sizes.discrete.width and sizes.discrete.height:  # some cameras list sizes of 0
            listed_sizes.append((sizes.discrete.width, sizes.discrete.height))
    return listed_sizes or [(wide, high)]


def _stepped(value: int, minimum: int, maximum: int, step: int) -> int:
    """Return the largest size that the driver supports and that is not above ``value``, or else its smallest size."""
    step = max(step, 1)
    return min(max(minimum, minimum + (value - minimum) // step * step), maximum)


def _rate(device: int, code: int, width: int, height: int, wanted: float) -> float:
    """Return the lowest rate that is not below ``wanted``; if there is none, the highest rate; 0 if no rate is
    listed."""
    rates = []
    for item in _enumerate(
        device, API.ENUM_FRAMEINTERVALS, API.FrmIvalEnum, pixel_format=code, width=width, height=height
    ):
        intervals = getattr(item, "is")
        if item.type != INTERVAL_DISCRETE:
            slow, fast = (_fps(i) for i in (intervals.stepwise.max, intervals.stepwise.min))
            return min(max(wanted, slow), fast)
        rates.append(_fps(intervals.discrete))
    enough = [rate for rate in rates if rate >= wanted - 0.1]
    return min(enough) if enough else max(rates, default=0.0)


def _fps(interval) -> float:  # type: ignore[no-untyped-def]
    return interval.denominator / interval.numerator if interval.numerator else 0.0
