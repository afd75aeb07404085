"""What a camera can deliver, and which of it to ask for."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from fcntl import ioctl
from math import log
from typing import Any

from arenite.errors import UsageError
from arenite.host.camera.sources.v4l2_api import (
    API,
    INTERVAL_DISCRETE,
    PIXELS,
    SIZE_DISCRETE,
    fourcc_name,
)

#: Of equal rate and size, the format whose pixels cost the least to read comes first; mjpeg has to be decoded.
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
#: What is looked for where nothing was asked. A rate from ``ENOUGH_RATE`` on is as good as the wanted one.
WIDTH, HEIGHT, FPS, ENOUGH_RATE = 1280, 720, 30.0, 0.8
#: Formats that a decoder can make of mjpeg.
DECODED = ("rgb", "bgr", "grey")


@dataclass(frozen=True)
class RequestedMode:
    width: int | None = None
    height: int | None = None
    fps: float | None = None
    pixels: str | None = None


@dataclass(frozen=True)
class Mode:
    """``code``: the driver's format; ``fps``: the highest up to the wanted one, 0 where the driver does not tell."""

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


def choose_mode(modes: list[Mode], wish: RequestedMode) -> Mode:
    """The mode that serves the wish best. Raises ``UsageError`` where none can."""
    wanted = [m for m in modes if wish.pixels in (None, m.pixels) or _decodable(m, wish)]
    if not wanted:
        has = ", ".join(sorted({m.pixels for m in modes})) or "none that can be read"
        raise UsageError(
            f"The camera has no {wish.pixels or 'format that can be read'}; it has {has}.",
            "Ask for another format of pixels, or for none.",
        )
    return min(wanted, key=lambda mode: _cost(mode, wish))


def _decodable(mode: Mode, wish: RequestedMode) -> bool:
    return mode.pixels == "mjpeg" and wish.pixels in DECODED


def _cost(mode: Mode, wish: RequestedMode) -> tuple[float, ...]:
    """A size that was asked for comes before all else; where none was, a smaller picture that comes uncompressed and
    in time is better than a large one that does not. Compression is taken where only it has the size or the rate."""
    wide, high = wish.width or WIDTH, wish.height or HEIGHT
    scale = [log(mode.width / wide), log(mode.height / high)]
    # A picture that is too small lacks what was asked for; one too large only costs.
    size = sum(-2 * part if part < 0 else part for part in scale)
    rate = wish.fps or FPS
    slow = max(0.0, ENOUGH_RATE - mode.fps / rate) if mode.fps else 0.0
    packed = float(mode.pixels == "mjpeg")
    asked = wish.width or wish.height
    taste = float(PREFERENCE.index(mode.pixels))
    return (size, slow, packed, taste) if asked else (slow, packed, size, taste)


def enumerate_modes(device: int, kind: int, wish: RequestedMode) -> tuple[list[Mode], list[str]]:
    """All modes of the open ``device`` that can be read, and the names of formats that cannot."""
    modes: list[Mode] = []
    unread: list[str] = []
    for description in _each(device, API.ENUM_FMT, API.FmtDesc, type=kind):
        code = description.pixelformat
        if code not in PIXELS:
            unread.append(fourcc_name(code))
            continue
        for width, height in _sizes(device, code, wish):
            modes.append(Mode(code, width, height, _rate(device, code, width, height, wish.fps or FPS)))
    return modes, unread


def _each(device: int, request: int, struct: type, **fields: int) -> Iterator[Any]:
    for index in range(256):
        item = struct(index=index, **fields)
        try:
            ioctl(device, request, item, True)
        except OSError as error:
            # Drivers that enumerate nothing answer ENOTTY; the formats themselves may be tried all the same.
            if error.errno in (errno.EINVAL, errno.ENOTTY, errno.ENODATA):
                return
            raise
        yield item


def _sizes(device: int, code: int, wish: RequestedMode) -> list[tuple[int, int]]:
    wide, high = wish.width or WIDTH, wish.height or HEIGHT
    listed_sizes = []
    for item in _each(device, API.ENUM_FRAMESIZES, API.FrmSizeEnum, pixel_format=code):
        sizes = getattr(item, "is")
        if item.type != SIZE_DISCRETE:
            s = sizes.stepwise
            return [
                (
                    _stepped(wide, s.min_width, s.max_width, s.step_width),
                    _stepped(high, s.min_height, s.max_height, s.step_height),
                )
            ]
        if sizes.discrete.width and sizes.discrete.height:  # some cameras list sizes that they have not
            listed_sizes.append((sizes.discrete.width, sizes.discrete.height))
    return listed_sizes or [(wide, high)]


def _stepped(value: int, least: int, most: int, step: int) -> int:
    step = max(step, 1)
    return min(max(least, least + (value - least) // step * step), most)


def _rate(device: int, code: int, width: int, height: int, wanted: float) -> float:
    """The lowest rate that is as high as the wanted one, else the highest."""
    rates = []
    for item in _each(
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
