"""What a device tells about itself and its images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arenite.errors import DeviceError
from arenite.host.update.link import SILENCE_S, Link
from arenite.host.update.smp_message import GROUP_ARENITE, GROUP_IMAGE, READ, Answer

#: The phases of firmware/update/boot.h, by number.
PHASES = ("steady", "requested", "installing", "trial", "returning")
#: What happened to the last update, by number (firmware/update/boot.h).
OUTCOMES = ("none", "confirmed", "refused", "returned", "repaired", "kept")
KINDS = ("firmware", "model")
_CODED_VERSION = 1


@dataclass(frozen=True)
class Device:
    """The answer of Arenite's group of the protocol."""

    board: str
    abi: bytes  # hash of graph, arena and kernels of the firmware that runs
    takes_coded: bool
    phase: str
    outcome: str
    reason: int
    changed: tuple[str, ...]  # kinds of the images that the last update changed
    counters: tuple[int, ...]  # least security counter of firmware and model
    slot_bytes: tuple[int, ...]


@dataclass(frozen=True)
class Slot:
    """An image in a slot. Slot 0 is the one in use."""

    kind: str
    slot: int
    version: str
    hash: bytes
    is_confirmed: bool
    is_pending: bool


def read_device(link: Link, silence_s: float = SILENCE_S, *, is_restarting: bool = False) -> Device:
    """Return what the device tells about itself, and let ``link`` choose the frames that it takes.

    ``is_restarting``: it may be busy with its start.

    Raises:
        DeviceError: It does not answer, or is no device of Arenite.
    """
    answer = link.request(
        READ, GROUP_ARENITE, 0, silence_s=silence_s, is_slow=is_restarting, is_restarting=is_restarting
    )
    body = answer.body
    try:
        if answer.error:
            raise DeviceError(
                "The device speaks the update protocol, but its firmware was not made by Arenite.",
                "Use smpmgr for it (docs/update-serial.md).",
            )
        device = Device(
            _text(body, "board"),
            body["abi"] if isinstance(body["abi"], bytes) else b"",
            body["coded"] == _CODED_VERSION,
            PHASES[_number(body, "phase")],
            OUTCOMES[_number(body, "outcome")],
            _number(body, "reason"),
            tuple(kind for bit, kind in enumerate(KINDS) if _number(body, "pairs") >> bit & 1),
            tuple(_number(body, name) for name in ("counter0", "counter1") if name in body),
            tuple(_number(body, name) for name in ("size0", "size1") if name in body),
        )
    except (KeyError, IndexError, TypeError) as error:
        raise _strange(error) from error
    link.settle(device.takes_coded)
    return device


def read_slots(link: Link) -> list[Slot]:
    """Return the images of the device. Raise ``DeviceError`` if it does not answer."""
    return slots_of(link.request(READ, GROUP_IMAGE, 0))


def slots_of(answer: Answer) -> list[Slot]:
    """Return the images in an answer of the group of images."""
    try:
        return [
            Slot(
                KINDS[image.get("image", 0)],
                image["slot"],
                str(image["version"]),
                bytes(image["hash"]),
                bool(image.get("confirmed")),
                bool(image.get("pending")),
            )
            for image in answer.body["images"]
        ]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise _strange(error) from error


def _number(body: dict[str, Any], name: str) -> int:
    value = body[name]
    if not isinstance(value, int) or value < 0:
        raise TypeError(name)
    return value


def _text(body: dict[str, Any], name: str) -> str:
    if not isinstance(body[name], str):
        raise TypeError(name)
    return str(body[name])


def _strange(error: Exception) -> DeviceError:
    return DeviceError(
        f"The device's answer has not the form that this version of Arenite expects ({error}).",
        "Update Arenite, or the firmware of the device.",
    )
