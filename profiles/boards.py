"""Read board profiles: one TOML file per board in ``profiles/boards/``.

A profile describes a board (core, memory, UART), the frameworks that build for it, the tools that upload to it, and
the source of each figure. To add a board, add a file; the code does not refer to any board by name.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

from arenite.errors import ProfileError
from arenite.input_files import parse_toml
from arenite.profiles.board import (
    ACCESS_CYCLES,
    CORES,
    ESP_LINKS,
    FEATURES,
    PSRAM_BUSES,
    RAM_KINDS,
    SECOND_CORE_PORTS,
    UPLOAD_TOOLS,
    Board,
    Emulator,
    Espressif,
    MemoryRegion,
    PlatformIO,
    Power,
    RtlBoard,
    SecondCore,
    Uart,
)
from arenite.profiles.board_fields import BoardTable
from arenite.profiles.connections import UploadTargets, UsbConnection, parse_targets, parse_usb
from arenite.profiles.profile_tables import profile_names, read_profile
from arenite.profiles.update_flash import parse_update

__all__ = ["Board", "all_boards", "board_names", "load_board", "parse_board"]

BOARD_DIRECTORY = Path(__file__).parent / "boards"


def _region(table: BoardTable, kind: str | None) -> MemoryRegion:
    """Return the memory region of a ``[[flash]]`` table (``kind`` is "flash") or a ``[[ram]]`` table (None)."""
    name, origin, size = table.get("name", str), table.get("origin", int), table.get("size", int)
    region = MemoryRegion(name, origin, size, kind or table.choice("kind", RAM_KINDS, "sram"))
    if kind is None:
        region = replace(
            region,
            access_cycles=table.get("access_cycles", float, ACCESS_CYCLES[region.kind]),
            arena=table.get("arena", bool, region.origin != 0),
            section=table.get("section", str, ""),
            code_section=table.get("code_section", str, ""),
        )
    table.finish()
    if region.size == 0:
        raise ProfileError(
            f"The memory region {region.name} has size 0, expected a positive number of bytes."
        )
    return region


def _emulator(table: BoardTable) -> Emulator:
    emulator = Emulator(
        family=table.get("family", str),
        machine=table.get("machine", str),
        system=table.get("system", str),
        icount_shift=table.get("icount_shift", int),
        ticks_numerator=table.get("ticks_numerator", int),
        ticks_denominator=table.get("ticks_denominator", int),
        cpu=table.get("cpu", str, ""),
        arguments=table.choices("arguments", None),
        serial_index=table.get("serial_index", int, 0),
    )
    table.finish()
    return emulator


def _platformio(table: BoardTable) -> PlatformIO:
    result = PlatformIO(table.get("board", str), table.get("platform", str), table.get("framework", str))
    table.finish()
    return result


def _espressif(table: BoardTable) -> Espressif:
    result = Espressif(
        table.get("chip", str),
        table.get("flash_size", int),
        table.choice("flash_mode", ("dio", "qio"), "dio"),
        table.choice("psram", PSRAM_BUSES, "none"),
        table.choice("link", ESP_LINKS, "uart0"),
    )
    table.finish()
    return result


def _second_core(table: BoardTable) -> SecondCore:
    result = SecondCore(
        port=table.choice("port", SECOND_CORE_PORTS),
        barrier_cycles=table.get("barrier_cycles", int),
        kind=table.choice("kind", ("measured", "estimated", "assumed")),
        source=table.get("source", str),
    )
    table.finish()
    return result


def _rtl(table: BoardTable) -> RtlBoard:
    result = RtlBoard(table.get("core", str), table.get("firmware", str))
    table.finish()
    return result


def _power(table: BoardTable) -> Power:
    sleep_ua = table.get("sleep_ua", float, math.inf)
    result = Power(
        table.get("active_ma", float),
        table.get("supply_v", float),
        table.get("source", str),
        sleep_ua if math.isfinite(sleep_ua) else None,
        table.get("sleep_source", str, ""),
    )
    table.finish()
    if (result.sleep_ua is None) != (not result.sleep_source):
        raise ProfileError(
            "[power]: 'sleep_ua' and 'sleep_source' go together.", "Give the source of the figure."
        )
    return result


def parse_board(text: str, location: str) -> Board:
    """Return the board that the TOML text ``text`` describes. Errors begin with ``location``, the name of the file.

    Raises:
        ProfileError: The TOML is malformed, or a field is missing, misspelt or out of range.
    """
    try:
        data = parse_toml(text)
    except ValueError as error:
        raise ProfileError(f"{location} is not valid TOML: {error}.") from error
    top = BoardTable(location, data)
    emulated = top.get("emulated", bool)
    uart = top.table("uart")
    if uart is None:
        raise ProfileError(f"{location} has no [uart].", "Give the serial port that the host uses.")
    espressif = top.table("espressif")
    platformio, upload, emulator, power, sources, usb, zephyr = (
        top.table(key) for key in ("platformio", "upload", "emulator", "power", "sources", "usb", "zephyr")
    )
    board = Board(
        name=top.get("name", str),
        title=top.get("title", str),
        mcu=top.get("mcu", str),
        core=top.choice("core", CORES),
        clock_hz=top.get("clock_hz", int),
        emulated=emulated,
        features=frozenset(top.choices("features", FEATURES)),
        flash=tuple(_region(row, "flash") for row in top.tables("flash")),
        ram=tuple(_region(row, None) for row in top.tables("ram")),
        uart=Uart(uart.get("device", str), uart.get("baud", int)),
        platformio=_platformio(platformio) if platformio else None,
        upload_tools=upload.choices("tools", UPLOAD_TOOLS) if upload else (),
        emulator=_emulator(emulator) if emulator else None,
        power=_power(power) if power else None,
        second_core=_second_core(second) if (second := top.table("second_core")) else None,
        espressif=_espressif(espressif) if espressif else None,
        sources={key: str(value) for key, value in sources.items().items()} if sources else {},
        usb=parse_usb(usb) if usb else UsbConnection(),
        targets=parse_targets(upload) if upload else UploadTargets(),
        zephyr_target=zephyr.get("board", str) if zephyr else "",
        rtl=_rtl(rtl) if (rtl := top.table("rtl")) else None,
        timing=top.get("timing", str, ""),
    )
    for table in (uart, upload, zephyr):
        if table is not None:
            table.finish()
    update = top.table("update")
    top.finish()
    if update is not None:
        board = replace(board, update=parse_update(update, location, board.flash, board.ram))
    if board.emulated != (board.emulator is not None):
        raise ProfileError(
            f"{location}: an emulated board needs an [emulator] table, and other boards must not have one."
        )
    if board.rtl is not None and not board.emulated:
        raise ProfileError(f"{location}: only an emulated board can have an [rtl] table.")
    prefixes = {
        "qemu_": board.emulated and board.rtl is None,
        "rtl_": board.rtl is not None,
    }
    if any(board.name.startswith(prefix) != expected for prefix, expected in prefixes.items()):
        raise ProfileError(
            f"{location}: names of emulated boards start with 'qemu_', or with 'rtl_' if they have an [rtl] table, and "
            "names of other boards must not."
        )
    return board


@cache
def _load(path: Path) -> Board:
    return read_profile(path, "board", parse_board)


def board_names() -> list[str]:
    """Return the names of all boards with a profile, sorted."""
    return profile_names(BOARD_DIRECTORY)


def load_board(name: str) -> Board:
    """Return the profile of board ``name``.

    Raises:
        ProfileError: There is no such board (the hint lists similar names), or its profile is malformed.
    """
    names = board_names()
    if name not in names:
        close_names = difflib.get_close_matches(name, names, 4, 0.5)
        hint = (
            f"Did you mean {' or '.join(close_names)}?"
            if close_names
            else "`arenite boards` lists all of them."
        )
        raise ProfileError(f"There is no board '{name}'.", hint)
    return _load(BOARD_DIRECTORY / f"{name}.toml")


def all_boards() -> list[Board]:
    """Return the profiles of all boards, sorted by name."""
    return [_load(BOARD_DIRECTORY / f"{name}.toml") for name in board_names()]
