"""The messages of an application, and the text of its frames (docs/protocol.md, "app: messages")."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from arenite.firmware.app.camera_settings import PIXEL_CODES

VERSION = 1
_PIXEL_FORMATS = {code: name for name, code in PIXEL_CODES.items()}


class Sensor(IntEnum):
    """The kinds of sensors."""

    SOUND = 1
    MOTION = 2
    ANALOG = 3
    PICTURES = 4


class Type(IntEnum):
    """The types of frames."""

    HELLO = 1
    CLASS = 2
    SAMPLES = 3
    LOST = 4
    SCORES = 5
    EVENT = 6
    HEALTH = 7
    TEXT = 8
    ROW = 9


@dataclass(frozen=True)
class Hello:
    """The description of an application: its sensor, samples per second of each channel, samples of a window and from
    window to window, the ticks of a second and from window to window, and the size of pictures in pixels."""

    sensor: Sensor
    channels: int
    classes: int
    rate: int
    window: int
    hop: int
    ticks_per_s: int
    period: int
    width: int = 0
    height: int = 0


@dataclass(frozen=True)
class ClassName:
    """The name of class ``index``."""

    index: int
    name: str


@dataclass(frozen=True)
class Samples:
    """int16 ``values`` [samples, channels] from sample ``at`` on."""

    at: int
    values: np.ndarray


@dataclass(frozen=True)
class Lost:
    """The sensor or its driver lost ``count`` samples from sample ``at`` on."""

    at: int
    count: int


@dataclass(frozen=True)
class WindowScores:
    """The scores of the window whose last sample is ``at``, in percent, and the ticks that the window took."""

    at: int
    ticks: int
    percent: tuple[int, ...]


@dataclass(frozen=True)
class EventMessage:
    """The start or the end of an event of class ``index``; ``at`` is the last sample that it depends on."""

    at: int
    index: int
    is_start: bool
    percent: int
    score: int


@dataclass(frozen=True)
class Health:
    """The counts since the start, as the line ``status`` tells them; ``busy`` and ``worst`` are ticks. Samples and
    windows of a camera are frames and inferences, and lost are the frames that were dropped or missing.

    ``gated`` are the windows that a gate skipped; None if the application is of an older version.
    """

    samples: int
    busy: int
    worst: int
    windows: int
    late: int
    lost: int
    stuck: int
    silent: int
    dropped_frames: int
    dropped_lines: int
    gated: int | None = None


@dataclass(frozen=True)
class Text:
    """A line of text."""

    line: str


@dataclass(frozen=True)
class Row:
    """Bytes of row ``row`` of picture ``picture``, from byte ``start`` on. ``format`` is one of ``PIXEL_BYTES``."""

    picture: int
    row: int
    start: int
    format: str
    data: bytes


@dataclass(frozen=True)
class MissingFrames:
    """Frames did not arrive: the application dropped ``count`` of them, or the connection damaged them."""

    count: int


Message = (
    Hello | ClassName | Samples | Lost | WindowScores | EventMessage | Health | Text | Row | MissingFrames
)


def parse_message(payload: bytes) -> Message | None:
    """Return the message of a frame without its CRC. Return None for a type, a version or a length that this program
    does not know: a newer application may send more."""
    kind, form, data = payload[0], payload[1], payload[4:]
    try:
        return _parse(Type(kind), form, data)
    except (ValueError, struct.error):
        return None


def _parse(kind: Type, form: int, data: bytes) -> Message | None:
    if kind == Type.HELLO:
        if form != VERSION:
            return None
        sensor, channels, classes, *numbers = struct.unpack_from("<BBHIIIIIHH", data)
        return Hello(Sensor(sensor), channels, classes, *numbers)
    if kind == Type.CLASS:
        return ClassName(int.from_bytes(data[:2], "little"), data[2:].decode("utf-8", "replace"))
    if kind == Type.SAMPLES:
        (at,) = struct.unpack_from("<Q", data)
        return Samples(at, np.frombuffer(data[8:], "<i2").reshape(-1, form))
    if kind == Type.LOST:
        return Lost(*struct.unpack_from("<QI", data))
    if kind == Type.SCORES:
        at, ticks = struct.unpack_from("<QI", data)
        return WindowScores(at, ticks, tuple(data[12:]))
    if kind == Type.EVENT:
        at, index, is_start, percent, score = struct.unpack_from("<QHBBi", data)
        return EventMessage(at, index, bool(is_start), percent, score)
    if kind == Type.HEALTH:
        return Health(*struct.unpack_from("<QQ9I" if len(data) >= 52 else "<QQ8I", data))
    if kind == Type.TEXT:
        return Text(data.decode("utf-8", "replace"))
    if form not in _PIXEL_FORMATS:
        return None
    picture, row, start = struct.unpack_from("<IHH", data)
    return Row(picture, row, start, _PIXEL_FORMATS[form], data[8:])
