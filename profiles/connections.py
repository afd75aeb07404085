"""Read the parts of a board profile that say how the board is connected to a computer: its USB identification, and the
settings of each upload tool."""

from __future__ import annotations

import re
from dataclasses import dataclass

from arenite.errors import ProfileError
from arenite.profiles.board_fields import BoardTable

#: The kinds of debug probes. Some are part of a board, others are separate devices.
PROBES = ("cmsis-dap", "stlink", "jlink", "icdi")
#: The methods to restart a board over its serial port (see host/link/reset.py).
RESETS = ("dtr", "rts", "esp", "usb-jtag", "break")
#: The methods to start a board's bootloader over the serial port of the running program.
BOOTLOADER_ENTRIES = ("1200bps",)
_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")


@dataclass(frozen=True)
class UsbConnection:
    """The USB identification of a board. Ids are ``vvvv:pppp``: vendor and product in lower-case hexadecimal."""

    ids: tuple[str, ...] = ()  # ids of the serial port that the firmware uses
    #: Ids of the board's bootloader, or of another port that only an upload tool can use.
    boot: tuple[str, ...] = ()
    adapter: bool = (
        False  # whether its serial port is on pins, to which any USB-to-serial adapter may be connected
    )
    serials: tuple[str, ...] = ()  # beginnings of the serial number that tell boards with the same id apart
    probe: str = ""  # the kind of the debug probe on the board, one of PROBES; "" if there is none


@dataclass(frozen=True)
class Uf2Bootloader:
    """A bootloader that appears as a USB drive: the UF2 family that it accepts, and the Board-IDs that its file
    INFO_UF2.TXT can have."""

    family: int
    boards: tuple[str, ...]


@dataclass(frozen=True)
class DfuBootloader:
    """A DFU bootloader: its ids for ``dfu-util --device``, the flash address for DfuSe (None for plain DFU), and the
    number of the alternate setting."""

    ids: tuple[str, ...]
    address: int | None
    alternate: int = 0


@dataclass(frozen=True)
class UploadTargets:
    """The name of the chip in each upload tool, or "" if the tool does not support the chip.

    ``openocd`` is the name of an OpenOCD script in its folder ``target/``, or ``board/NAME`` for a board's script,
    which also selects the probe. ``reset`` is one of ``RESETS`` and ``enter`` one of ``BOOTLOADER_ENTRIES``, or "".
    """

    openocd: str = ""
    pyocd: str = ""
    jlink: str = ""
    uf2: Uf2Bootloader | None = None
    dfu: DfuBootloader | None = None
    reset: str = ""
    enter: str = ""


def parse_usb(table: BoardTable) -> UsbConnection:
    """Return the content of the table ``[usb]`` of a profile. Raises ``ProfileError`` for a malformed id, and for a
    table with neither ids nor an adapter."""
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
            "[usb] has neither ids nor adapter = true.",
            "Add the USB ids of the board, or remove the table if they are unknown.",
        )
    return usb


def parse_targets(table: BoardTable) -> UploadTargets:
    """Return the content of the table ``[upload]`` of a profile, except ``tools``. Raises ``ProfileError``."""
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


def _dfu(table: BoardTable) -> DfuBootloader:
    address = table.get("address", int, -1)
    return DfuBootloader(
        _ids(table, "ids"), None if address == -1 else address, table.get("alternate", int, 0)
    )


def _ids(table: BoardTable, key: str) -> tuple[str, ...]:
    ids = table.choices(key, None)
    for text in ids:
        if not _ID.fullmatch(text):
            raise ProfileError(
                f"'{key}': '{text}' is not a USB id.",
                "Write vendor and product in lower case, such as 0483:374b.",
            )
    return ids
