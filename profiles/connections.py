"""How a board hangs on a computer: what it looks like on USB, and what each uploader must be told about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from arenite.errors import ProfileError

#: Debug probes that are soldered to boards; the first is also sold loose, as are the others.
PROBES = ("cmsis-dap", "stlink", "jlink", "icdi")
#: Ways to start a program again over its serial port (host/link/reset.py).
RESETS = ("dtr", "rts", "esp", "usb-jtag", "break")
#: Ways into a bootloader over the serial port of the program that runs.
BOOTLOADER_ENTRIES = ("1200bps",)
_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")


@dataclass(frozen=True)
class UsbConnection:
    """A board as the host sees it. Ids are ``vvvv:pppp``: vendor and product in lower-case hexadecimal."""

    ids: tuple[str, ...] = ()  # of the serial port that the firmware talks on
    boot: tuple[str, ...] = ()  # of its bootloader, or of another port that only an uploader can use
    adapter: bool = False  # its port is one of pins: any USB-to-serial adapter may be it
    serials: tuple[str, ...] = ()  # how its serial number begins, where that tells boards with one id apart
    probe: str = ""  # the debug probe on it: one of PROBES


@dataclass(frozen=True)
class Uf2Bootloader:
    """Its mass-storage bootloader: the family that it takes, and the Board-IDs in INFO_UF2.TXT."""

    family: int
    boards: tuple[str, ...]


@dataclass(frozen=True)
class DfuBootloader:
    """Its DFU bootloader: ids as ``dfu-util --device`` takes them, and the address for DfuSe ones (None: plain DFU)."""

    ids: tuple[str, ...]
    address: int | None
    alternate: int = 0


@dataclass(frozen=True)
class UploadTargets:
    """What the tools call the chip; empty where they do not know it.

    ``openocd`` is a script below ``target/``, or ``board/NAME``, which brings its probe.  ``reset`` and ``enter``: see
    RESETS and ENTRIES.
    """

    openocd: str = ""
    pyocd: str = ""
    jlink: str = ""
    uf2: Uf2Bootloader | None = None
    dfu: DfuBootloader | None = None
    reset: str = ""
    enter: str = ""


def parse_usb(table: Any) -> UsbConnection:
    """``[usb]`` of a profile. Raises ProfileError for a malformed id."""
    usb = UsbConnection(
        ids=_ids(table, "ids"),
        boot=_ids(table, "boot"),
        adapter=table.get("adapter", bool, False),
        serials=table.choices("serials", None),
        probe=table.choice("probe", ("", *PROBES), ""),
    )
    table.finish()
    if not (usb.ids or usb.adapter):
        raise ProfileError(
            "[usb] names neither ids nor an adapter.", "Leave the table out if nothing is known."
        )
    return usb


def parse_targets(table: Any) -> UploadTargets:
    """The fields of ``[upload]`` beside ``tools``."""
    uf2, dfu = table.table("uf2"), table.table("dfu")
    targets = UploadTargets(
        openocd=table.get("openocd", str, ""),
        pyocd=table.get("pyocd", str, ""),
        jlink=table.get("jlink", str, ""),
        uf2=Uf2Bootloader(uf2.get("family", int), uf2.choices("boards", None)) if uf2 else None,
        dfu=_dfu(dfu) if dfu else None,
        reset=table.choice("reset", ("", *RESETS), ""),
        enter=table.choice("enter", ("", *BOOTLOADER_ENTRIES), ""),
    )
    for inner in (uf2, dfu):
        if inner is not None:
            inner.finish()
    return targets


def _dfu(table: Any) -> DfuBootloader:
    address = table.get("address", int, -1)
    return DfuBootloader(
        _ids(table, "ids"), None if address == -1 else address, table.get("alternate", int, 0)
    )


def _ids(table: Any, key: str) -> tuple[str, ...]:
    ids: tuple[str, ...] = table.choices(key, None)
    for text in ids:
        if not _ID.fullmatch(text):
            raise ProfileError(
                f"'{key}' has the USB id '{text}'.", "Write vendor and product in lower case: 0483:374b."
            )
    return ids
