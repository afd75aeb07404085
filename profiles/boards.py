"""Board profiles: one TOML file per board in ``profiles/boards/``, read into frozen values.

A profile says what a board is (core, memory, UART), who can build for it and upload to it, and where each of
those figures comes from. Adding a board is adding a file; nothing in the code names one.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from arenite.converters.errors import ProfileError

BOARD_DIRECTORY = Path(__file__).parent / "boards"

CORES = (
    "cortex-m0",
    "cortex-m0plus",
    "cortex-m23",
    "cortex-m3",
    "cortex-m4",
    "cortex-m4f",
    "cortex-m33",
    "cortex-m7",
    "cortex-m55",
    "cortex-m85",
    "rv32imc",
    "rv32imac",
    "rv32imafc",
    "xtensa-lx106",
    "xtensa-lx6",
    "xtensa-lx7",
)
FEATURES = ("fpu", "dsp", "mve")
RAM_KINDS = ("sram", "tcm", "ccm", "psram")
UPLOAD_TOOLS = ("platformio", "stlink", "openocd", "pyocd", "esptool", "jlink", "copy", "emulator")


@dataclass(frozen=True)
class Region:
    """A range of addresses, ``origin`` ≤ address < ``origin + size``; ``size`` in bytes."""

    name: str
    origin: int
    size: int
    kind: str  # "flash", or one of RAM_KINDS


@dataclass(frozen=True)
class Uart:
    """The serial port that the host talks to: its name on the board, and its speed in baud."""

    device: str
    baud: int


@dataclass(frozen=True)
class PlatformIO:
    """What PlatformIO calls the board, and the platform and framework that build for it."""

    board: str
    platform: str
    framework: str


@dataclass(frozen=True)
class Emulator:
    """How QEMU is started for an emulated board, and how its timer counts instructions.

    Under ``-icount shift=icount_shift`` an instruction lasts ``2**icount_shift`` ns of virtual time, so a counter of
    ``timer_hz`` advances ``timer_hz * 2**shift / 1e9`` ticks per instruction.  ``ticks_numerator`` ticks equal
    ``ticks_denominator`` instructions exactly.
    """

    family: str
    machine: str
    system: str  # the suffix of qemu-system-*
    icount_shift: int
    ticks_numerator: int
    ticks_denominator: int
    cpu: str = ""
    arguments: tuple[str, ...] = ()
    serial_index: int = 0  # which of the machine's UARTs the firmware talks on

    def instructions(self, ticks: int) -> int:
        """Instructions in which the firmware's counter advances by ``ticks``; within one of the exact number."""
        return round(ticks * self.ticks_denominator / self.ticks_numerator)

    def instructions_in_us(self, microseconds: int) -> int:
        """Instructions that last this long in virtual time (the MLPerf monitor tells whole microseconds)."""
        return round(microseconds * 1000 / 2**self.icount_shift)


@dataclass(frozen=True)
class Power:
    """Typical supply, for estimates: current while computing (mA) and volts."""

    active_ma: float
    supply_v: float
    source: str


@dataclass(frozen=True)
class Board:
    """Everything known about one board.  ``ram[0]`` is where the arena, the stack and the data go."""

    name: str
    title: str
    mcu: str
    core: str
    clock_hz: int
    emulated: bool
    features: frozenset[str]
    flash: tuple[Region, ...]
    ram: tuple[Region, ...]
    uart: Uart
    platformio: PlatformIO | None
    upload_tools: tuple[str, ...]
    emulator: Emulator | None
    power: Power | None
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def flash_bytes(self) -> int:
        """Bytes of program memory in the first flash region, where code and weights go."""
        return self.flash[0].size

    @property
    def ram_bytes(self) -> int:
        """Bytes of the RAM region that holds the arena, the stack and static data."""
        return self.ram[0].size


class _Table:
    """A TOML table that names the file and the field in every complaint, and knows which fields were read."""

    def __init__(self, where: str, data: object) -> None:
        if not isinstance(data, dict):
            raise ProfileError(
                f"{where} is not a table.", "Write it as [name] followed by key = value lines."
            )
        self._where = where
        self._data: dict[str, Any] = data
        self._seen: set[str] = set()

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """The value of ``key``; without a default it must be there.  Raises ProfileError on a wrong type."""
        self._seen.add(key)
        if key not in self._data:
            if default is None:
                raise ProfileError(f"{self._where} has no field '{key}'.", "Compare it with another profile.")
            return default
        value = self._data[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ProfileError(f"{self._where}: '{key}' must be {kind.__name__}, not {value!r}.")
        if isinstance(value, int) and value < 0:
            raise ProfileError(f"{self._where}: '{key}' must not be negative, but is {value}.")
        return value

    def choice(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """One of ``allowed``."""
        value = self.get(key, str, default)
        return self._allowed(key, value, allowed)

    def choices(self, key: str, allowed: tuple[str, ...] | None) -> tuple[str, ...]:
        """A list of strings, each one of ``allowed`` where that is given; empty when absent."""
        values = self.get(key, list, [])
        for value in values:
            if not isinstance(value, str):
                raise ProfileError(f"{self._where}: '{key}' must be a list of strings, not {values!r}.")
            if allowed is not None:
                self._allowed(key, value, allowed)
        return tuple(values)

    def _allowed(self, key: str, value: str, allowed: tuple[str, ...]) -> str:
        if value not in allowed:
            raise ProfileError(
                f"{self._where}: '{key}' is '{value}'.", f"It must be one of {', '.join(allowed)}."
            )
        return value

    def table(self, key: str) -> _Table | None:
        """The sub-table ``key``, or None when the profile has none."""
        self._seen.add(key)
        if key not in self._data:
            return None
        return _Table(f"{self._where} [{key}]", self._data[key])

    def tables(self, key: str) -> list[_Table]:
        """The array of tables ``[[key]]``: at least one."""
        self._seen.add(key)
        rows = self._data.get(key)
        if not isinstance(rows, list) or not rows:
            raise ProfileError(f"{self._where} needs at least one [[{key}]] entry.")
        return [_Table(f"{self._where} [[{key}]] #{i}", row) for i, row in enumerate(rows)]

    def items(self) -> dict[str, Any]:
        """The raw contents."""
        return dict(self._data)

    def finish(self) -> None:
        """Refuse fields that nobody reads: most often a misspelling."""
        for key in self._data:
            if key not in self._seen:
                near = difflib.get_close_matches(key, self._seen, 1)
                hint = (
                    f"Did you mean '{near[0]}'?"
                    if near
                    else f"Known fields: {', '.join(sorted(self._seen))}."
                )
                raise ProfileError(f"{self._where} has an unknown field '{key}'.", hint)


def _region(table: _Table, kind: str | None) -> Region:
    region = Region(
        name=table.get("name", str),
        origin=table.get("origin", int),
        size=table.get("size", int),
        kind=kind or table.choice("kind", RAM_KINDS, "sram"),
    )
    table.finish()
    if region.size == 0:
        raise ProfileError(f"The memory region {region.name} has size 0.")
    return region


def _emulator(table: _Table) -> Emulator:
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


def _platformio(table: _Table) -> PlatformIO:
    result = PlatformIO(table.get("board", str), table.get("platform", str), table.get("framework", str))
    table.finish()
    return result


def _power(table: _Table) -> Power:
    result = Power(table.get("active_ma", float), table.get("supply_v", float), table.get("source", str))
    table.finish()
    return result


def parse_board(text: str, where: str) -> Board:
    """Read one profile from TOML ``text``; ``where`` names it in errors.

    Raises:
        ProfileError: malformed TOML, or a field that is missing, misspelt or out of range.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{where} is not valid TOML: {error}.") from error
    top = _Table(where, data)
    emulated = top.get("emulated", bool)
    uart = top.table("uart")
    if uart is None:
        raise ProfileError(f"{where} has no [uart].", "Name the serial port that the host talks to.")
    platformio, upload, emulator, power, sources = (
        top.table(key) for key in ("platformio", "upload", "emulator", "power", "sources")
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
        sources={key: str(value) for key, value in sources.items().items()} if sources else {},
    )
    for table in (uart, upload):
        if table is not None:
            table.finish()
    top.finish()
    if board.emulated != (board.emulator is not None):
        raise ProfileError(f"{where}: an emulated board, and no other, needs an [emulator] table.")
    if board.emulated != board.name.startswith("qemu_"):
        raise ProfileError(f"{where}: names of emulated boards, and no others, start with 'qemu_'.")
    return board


@cache
def _load(path: Path) -> Board:
    board = parse_board(path.read_text("utf-8"), path.name)
    if board.name != path.stem:
        raise ProfileError(
            f"{path.name} describes '{board.name}'.", "The file's name must be the board's name."
        )
    return board


def board_names() -> list[str]:
    """Names of all boards with a profile, sorted."""
    return sorted(path.stem for path in BOARD_DIRECTORY.glob("*.toml"))


def load_board(name: str) -> Board:
    """The profile called ``name``.

    Raises:
        ProfileError: no such board (the hint has the nearest names), or a malformed profile.
    """
    names = board_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, 4, 0.5)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`arenite boards` lists all of them."
        raise ProfileError(f"There is no board '{name}'.", hint)
    return _load(BOARD_DIRECTORY / f"{name}.toml")


def all_boards() -> list[Board]:
    """Every profile, sorted by name."""
    return [_load(BOARD_DIRECTORY / f"{name}.toml") for name in board_names()]
