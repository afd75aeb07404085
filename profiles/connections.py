"""Read how a board is connected to a computer: its USB identification, and the settings of each uploader."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from arenite.errors import ProfileError

#: Debug probes that are part of boards or sold separately.
PROBES = ("cmsis-dap", "stlink", "jlink", "icdi")
#: Methods to restart a program over its serial port (host/link/reset.py).
RESETS = ("dtr", "rts", "esp", "usb-jtag", "break")
#: Methods to enter a bootloader over the serial port of the running program.
BOOTLOADER_ENTRIES = ("1200bps",)
_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")


@dataclass(frozen=True)
class UsbConnection:
    """The USB identification of a board. Ids are ``vvvv:pppp``: vendor and product in lower-case hexadecimal."""

    ids: tuple[str, ...] = ()  # ids of the serial port that the firmware uses
    boot: tuple[str, ...] = ()  # ids of its bootloader, or of another port that only an uploader can use
    adapter: bool = (
        False  # whether its serial port is on pins, to which any USB-to-serial adapter may be connected
    )
    serials: tuple[str, ...] = ()  # start of its serial number, if that distinguishes boards with the same id
    probe: str = ""  # the kind of the debug probe on the board, one of PROBES, or ""


@dataclass(frozen=True)
class Uf2Bootloader:
    """A mass-storage bootloader: the UF2 family that it accepts, and the Board-IDs in its INFO_UF2.TXT."""

    family: int
    boards: tuple[str, ...]


@dataclass(frozen=True)
class DfuBootloader:
    """A DFU bootloader: ids for ``dfu-util --device``, and the address for DfuSe, or None for plain DFU."""

    ids: tuple[str, ...]
    address: int | None
    alternate: int = 0


@dataclass(frozen=True)
class UploadTargets:
    """The name of the chip in each upload tool, or "" if the tool does not support the chip.

    ``openocd`` is a script below ``target/``, or ``board/NAME``, which includes the probe. ``reset`` is one of
    ``RESETS``, and ``enter`` one of ``BOOTLOADER_ENTRIES``.
    """

    openocd: str = ""
    pyocd: str = ""
    jlink: str = ""
    uf2: Uf2Bootloader | None = None
    dfu: DfuBootloader | None = None
    reset: str = ""
    enter: str = ""


def parse_usb(table: Any) -> UsbConnection:
    """Read ``[usb]`` of a profile. Raises ProfileError for a malformed id."""
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
            "[usb] names neither ids nor an adapter.", "Leave the table out if the ids are unknown."
        )
    return usb


def parse_targets(table: Any) -> UploadTargets:
    """Read the fields of ``[upload]`` except ``tools``."""
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
    for sub_table in (uf2, dfu):
        if sub_table is not None:
            sub_table.finish()
    return targets


def _dfu(table: Any) -> DfuBootloader:
    address = table.get("address", int, -1)
    return DfuBootloader(
        _ids(table, "ids"), None if address == -1 else address, table.get("alternate", int, 0)
    )


def _ids(table: Any, key: str) -> tuple[str, ...]:
    ids = cast(tuple[str, ...], table.choices(key, None))
    for text in ids:
        if not _ID.fullmatch(text):
            raise ProfileError(
                f"'{key}' has the USB id '{text}'.", "Write vendor and product in lower case: 0483:374b."
            )
    return ids
