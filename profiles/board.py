"""The classes that hold the contents of a board profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arenite.profiles.connections import UploadTargets, UsbConnection
from arenite.profiles.update_flash import UpdateFlash

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
#: The average cycles of a load or store for each kind of RAM, if the profile has no figure. They are assumed: on-chip
#: memory takes one cycle; PSRAM is on a serial bus, and a cache serves most accesses to it.
ACCESS_CYCLES = {"sram": 1.0, "tcm": 1.0, "ccm": 1.0, "psram": 4.0}
PSRAM_BUSES = ("none", "quad", "octal", "hex")
ESP_LINKS = ("uart0", "usb_serial_jtag")
SECOND_CORE_PORTS = ("riscv_virt", "freertos", "rp2")
UPLOAD_TOOLS = (
    *("platformio", "stlink", "openocd", "pyocd", "esptool", "jlink"),
    *("dfu", "uf2", "copy", "gdb", "emulator"),
)


@dataclass(frozen=True)
class MemoryRegion:
    """A range of addresses from ``origin`` to ``origin + size - 1``. ``size`` is in bytes.

    Attributes:
        access_cycles: The average duration of a load or store in cycles of the core, from the profile or
            ``ACCESS_CYCLES``.
        arena: Whether the region may hold a part of the arena.
        section: The linker section with which the board's framework puts variables into this region. It is "" if
            there is no such section, or if the framework uses attributes instead.
        code_section: The section with code that the start-up code of the board's framework copies to this region; the
            names of its input sections begin with it. It is "" if there is none.
    """

    name: str
    origin: int
    size: int
    kind: str  # "flash", or one of RAM_KINDS
    access_cycles: float = 1.0
    arena: bool = True
    section: str = ""
    code_section: str = ""


@dataclass(frozen=True)
class Uart:
    """The serial port that the host uses: its name on the board, and its baud rate."""

    device: str
    baud: int


@dataclass(frozen=True)
class PlatformIO:
    """PlatformIO's names for the board, and for the platform and the framework that build its firmware."""

    board: str
    platform: str
    framework: str


@dataclass(frozen=True)
class Espressif:
    """The settings of ESP-IDF for a board: the chip as esptool names it, the size in bytes and the read mode of the
    flash chip, the bus of the PSRAM ("none" if there is no PSRAM), and the chip's peripheral that the host's serial
    port leads to (one of ``ESP_LINKS``)."""

    chip: str
    flash_size: int
    flash_mode: str
    psram: str
    link: str


@dataclass(frozen=True)
class Emulator:
    """The QEMU machine of an emulated board, and the ratio of its timer's ticks to instructions.

    With ``-icount shift=icount_shift``, an instruction takes ``2**icount_shift`` ns of virtual time. So a counter of
    ``timer_hz`` advances by ``timer_hz * 2**shift / 1e9`` ticks per instruction. ``ticks_numerator`` ticks equal
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
    serial_index: int = 0  # number of the machine's UART that the firmware uses

    def instructions(self, ticks: int) -> int:
        """Return the number of instructions in ``ticks`` of the firmware's counter, accurate to one instruction."""
        return round(ticks * self.ticks_denominator / self.ticks_numerator)

    def instructions_in_us(self, microseconds: int) -> int:
        """Return the number of instructions in this virtual time. The MLPerf monitor reports integer microseconds."""
        return round(microseconds * 1000 / 2.0**self.icount_shift)


@dataclass(frozen=True)
class RtlBoard:
    """The core of an emulated board whose RTL is simulated, as ``host/emulator/rtl/cores.py`` names it, and the board
    whose firmware it runs."""

    core: str
    firmware: str


@dataclass(frozen=True)
class SecondCore:
    """A second core that can compute one half of a layer while the first core computes the other half. ``port`` says
    how the firmware starts work on it.

    ``barrier_cycles`` is the number of cycles for handing over a half and waiting for its end. ``kind`` says whether
    this figure is measured, estimated or assumed.
    """

    port: str
    barrier_cycles: int
    kind: str
    source: str


@dataclass(frozen=True)
class Power:
    """Typical supply figures for estimates: the current in mA while the core computes, the voltage in V, and the
    current in µA in the deepest sleep mode that keeps the memory and that a timer can end. The sleep current is None
    if it is unknown."""

    active_ma: float
    supply_v: float
    source: str
    sleep_ua: float | None = None
    sleep_source: str = ""


@dataclass(frozen=True)
class Board:
    """The data of a board. ``ram[0]`` holds the arena, the stack and static data."""

    name: str
    title: str
    mcu: str
    core: str
    clock_hz: int
    emulated: bool
    features: frozenset[str]
    flash: tuple[MemoryRegion, ...]
    ram: tuple[MemoryRegion, ...]
    uart: Uart
    platformio: PlatformIO | None
    upload_tools: tuple[str, ...]
    emulator: Emulator | None
    power: Power | None
    espressif: Espressif | None = None
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)
    usb: UsbConnection = field(default_factory=UsbConnection)
    targets: UploadTargets = field(default_factory=UploadTargets)
    second_core: SecondCore | None = None
    zephyr_target: str = ""  # the board's name for `west build -b`; "" if the profile has none
    update: UpdateFlash | None = None  # None: the board has no boot loader for updates
    rtl: RtlBoard | None = None  # None: no RTL of the board's core is simulated
    timing: str = ""  # name of a table in profiles/timing/; "" for the one of the core

    @property
    def firmware_name(self) -> str:
        """The name of the board in its firmware."""
        return self.name if self.rtl is None else self.rtl.firmware

    @property
    def cores(self) -> int:
        """The number of cores that can compute layers."""
        return 1 if self.second_core is None else 2

    @property
    def supply_v(self) -> float:
        """The supply voltage in volts, or 3.3 if the profile has no power figures."""
        return self.power.supply_v if self.power is not None else 3.3

    @property
    def flash_bytes(self) -> int:
        """The size of the first flash region, which holds code and weights."""
        return self.flash[0].size

    @property
    def ram_bytes(self) -> int:
        """The size of the RAM region that holds the arena, the stack and static data."""
        return self.ram[0].size

    @property
    def second_rams(self) -> tuple[MemoryRegion, ...]:
        """The other RAM regions that may hold a part of the arena, the fastest first. If regions are equally fast, the
        largest is first.

        The tuple is empty if it is unknown how the board's framework can put a variable into another region.
        """
        arduino = self.platformio is not None and self.platformio.framework == "arduino"
        if not (self.emulated or self.espressif is not None or arduino):
            return ()
        return tuple(sorted((r for r in self.ram[1:] if r.arena), key=lambda r: (r.access_cycles, -r.size)))
