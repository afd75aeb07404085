"""List the cameras of this computer, and find names of cameras that do not change."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from arenite.host.camera.sources.v4l2.setup import capability


@dataclass(frozen=True)
class CameraDevice:
    """A video device of this computer. ``captures`` says whether it delivers pictures; ``problem`` says why it cannot
    be opened."""

    path: str
    card: str  # the driver's name of the device; "" if it cannot be opened
    captures: bool
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.path} ({self.card or self.problem}{'' if self.captures else ', no pictures'})"


def list_cameras(root: Path = Path("/")) -> list[CameraDevice]:
    """Return all devices /dev/videoN in the order of their numbers. Some of them deliver no pictures, such as the
    device for a camera's metadata."""
    devices = []
    for path in sorted((root / "dev").glob("video*"), key=lambda p: _number(p.name)):
        if not re.fullmatch(r"video\d+", path.name):
            continue
        try:
            device = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            devices.append(CameraDevice(str(path), "", False, (error.strerror or str(error)).lower()))
            continue
        try:
            properties = capability(device)
            devices.append(CameraDevice(str(path), properties.card, bool(properties.kind)))
        except OSError as error:
            devices.append(CameraDevice(str(path), "", False, (error.strerror or str(error)).lower()))
        finally:
            os.close(device)
    return devices


def cameras_sentence(root: Path = Path("/")) -> str:
    """Return a sentence with the cameras of this computer, for the hint of an error."""
    devices = list_cameras(root)
    if not devices:
        return "This computer has no /dev/video*."
    return f"There {'is' if len(devices) == 1 else 'are'} {', '.join(map(str, devices))}."


def stable_name(path: str, root: Path = Path("/")) -> str:
    """Return a link to the camera ``path`` that still leads to this camera after it was plugged in again and its number
    has changed. Return ``path`` itself if there is no such link, or if ``path`` is not a device /dev/videoN."""
    if not re.fullmatch(r"video\d+", Path(path).name):
        return path
    target = os.path.realpath(path)
    # Links in by-id contain the name and serial number of the camera. Links in by-path contain the USB port, which
    # distinguishes two cameras of the same kind.
    for kind in ("by-id", "by-path"):
        for link in sorted((root / "dev/v4l" / kind).glob("*")):
            if os.path.realpath(link) == target:
                return str(link)
    return path


def _number(name: str) -> int:
    digits = re.sub(r"\D", "", name)
    return int(digits) if digits else 0
