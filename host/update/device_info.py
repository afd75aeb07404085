"""What a device tells about itself and its images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arenite.errors import DeviceError
from arenite.host.update.link import SILENCE_S, Link
from arenite.host.update.smp_message import GROUP_ARENITE, GROUP_IMAGE, GROUP_OS, READ, Answer
from arenite.profiles.boards import all_boards

#: The phases of firmware/update/boot.h, by number.
PHASES = ("steady", "requested", "installing", "trial", "returning")
#: What happened to the last update, by number (firmware/update/boot.h).
OUTCOMES = ("none", "confirmed", "refused", "returned", "repaired", "kept")
KINDS = ("firmware", "model")
_CODED_VERSION = 1
#: Error of SMP: the device does not have this command.
_NOT_SUPPORTED = 8
#: The command of the group of the system that tells the board, and what it is asked for.
_INFO, _HARDWARE = 7, "i"
#: The outcome of an update on a device that does not keep it.
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Device:
    """The answer of Arenite's group of the protocol.

    A device with Zephyr's own mcumgr has no such group (``is_plain``). Then ``abi``, ``counters`` and ``slot_bytes``
    are empty, the outcome is ``UNKNOWN``, and ``board`` is empty if the device does not tell it.
    """

    board: str
    abi: bytes  # hash of graph, arena and kernels of the firmware that runs
    takes_coded: bool
    phase: str
    outcome: str
    reason: int
    changed: tuple[str, ...]  # kinds of the images that the last update changed
    counters: tuple[int, ...]  # least security counter of firmware and model
    slot_bytes: tuple[int, ...]
    is_plain: bool = False
    key_hash: bytes = b""  # of the key that it trusts (``keys.key_hash``); empty if it does not tell it


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
        DeviceError: It does not answer, or its answer has another form.
    """
    answer = link.request(
        READ, GROUP_ARENITE, 0, silence_s=silence_s, is_slow=is_restarting, is_restarting=is_restarting
    )
    body = answer.body
    if answer.error == _NOT_SUPPORTED:
        return _read_plain_device(link, silence_s)
    try:
        if answer.error:
            raise DeviceError(
                f"The device does not tell its state, with error {answer.error}.",
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
            key_hash=body["key"] if isinstance(body.get("key"), bytes) else b"",
        )
    except (KeyError, IndexError, TypeError) as error:
        raise _strange(error) from error
    link.settle(device.takes_coded)
    return device


def _read_plain_device(link: Link, silence_s: float) -> Device:
    """Return what a device with MCUboot and Zephyr's mcumgr tells. Its images tell its phase: the one in use is
    confirmed, or on trial, and the other one may be about to be tried."""
    link.settle(False)
    info = link.request(READ, GROUP_OS, _INFO, {"format": _HARDWARE}, silence_s)
    name = info.body.get("output", "") if not info.error else ""
    slots = slots_of(link.request(READ, GROUP_IMAGE, 0, silence_s=silence_s))
    if any(slot.slot == 1 and slot.is_pending for slot in slots):
        phase = "requested"
    else:
        phase = "steady" if all(slot.is_confirmed for slot in slots if slot.slot == 0) else "trial"
    return Device(
        _profile_name(str(name).partition("@")[0]),
        *(b"", False, phase, UNKNOWN, 0, (KINDS[0],), (), ()),
        is_plain=True,
    )


def _profile_name(board: str) -> str:
    """Return the name of the profile of Zephyr's ``board``, or ``board`` itself if there is none."""
    names = (p.name for p in all_boards() if p.zephyr_target.partition("/")[0] == board)
    return next(names, board) if board else ""


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
