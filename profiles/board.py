"""The contents of a board profile as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arenite.profiles.connections import UploadTargets, UsbConnection

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
#: Cycles of a load or store, by kind of RAM, where the profile has none. Assumed: memory on the chip answers in one
#: cycle; PSRAM is on a serial bus behind a cache, which serves most accesses.
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
    """A range of addresses, ``origin`` ≤ address < ``origin + size``; ``size`` in bytes.

    ``access_cycles`` of a RAM is the average duration of a load or store in the core's cycles: the profile's figure, or
    else an assumed one by kind. ``arena``: whether it may hold a part of the arena. ``section`` is the linker
    section by which the board's framework puts variables there; "" without one, or where the framework has attributes.
    """

    name: str
    origin: int
    size: int
    kind: str  # "flash", or one of RAM_KINDS
    access_cycles: float = 1.0
    arena: bool = True
    section: str = ""


@dataclass(frozen=True)
class Uart:
    """The serial port that the host uses: its name on the board, and its speed in baud."""

    device: str
    baud: int


@dataclass(frozen=True)
class PlatformIO:
    """PlatformIO's names of the board, and of the platform and framework that build for it."""

    board: str
    platform: str
    framework: str


@dataclass(frozen=True)
class Espressif:
    """The settings of ESP-IDF for a board: the chip as esptool names it, the bytes of the whole flash chip and its read
    mode, the bus of the PSRAM ("none": there is none), and the peripheral behind the host's port."""

    chip: str
    flash_size: int
    flash_mode: str
    psram: str
    link: str


@dataclass(frozen=True)
class Emulator:
    """The QEMU machine of an emulated board, and the relation of its timer to instructions.

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
    serial_index: int = 0  # number of the machine's UART that the firmware uses

    def instructions(self, ticks: int) -> int:
        """Instructions while the firmware's counter advances by ``ticks``, accurate to one instruction."""
        return round(ticks * self.ticks_denominator / self.ticks_numerator)

    def instructions_in_us(self, microseconds: int) -> int:
        """Instructions in this virtual time (the MLPerf monitor reports whole microseconds)."""
        value: int = round(microseconds * 1000 / 2**self.icount_shift)
        return value


@dataclass(frozen=True)
class SecondCore:
    """A second core that can compute halves of layers: the firmware's way to reach it (``SECOND_CORE_PORTS``), and the
    cycles of handing a half over and waiting for it. ``kind`` states whether they are measured or assumed."""

    port: str
    barrier_cycles: int
    kind: str
    source: str


@dataclass(frozen=True)
class Power:
    """Typical supply, for estimates: current while computing (mA), volts, and the deepest sleep (µA) that keeps the
    memory and wakes by a timer; None: unknown."""

    active_ma: float
    supply_v: float
    source: str
    sleep_ua: float | None = None
    sleep_source: str = ""


@dataclass(frozen=True)
class Board:
    """The data of one board. ``ram[0]`` holds the arena, the stack and the data."""

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

    @property
    def cores(self) -> int:
        """Cores on which layers can be computed."""
        return 1 if self.second_core is None else 2

    @property
    def supply_v(self) -> float:
        """Supply voltage in volts: that of the profile, 3.3 where the profile has no power figures."""
        return self.power.supply_v if self.power is not None else 3.3

    @property
    def flash_bytes(self) -> int:
        """Bytes of program memory in the first flash region, where code and weights go."""
        return self.flash[0].size

    @property
    def ram_bytes(self) -> int:
        """Bytes of the RAM region that holds the arena, the stack and static data."""
        return self.ram[0].size

    @property
    def second_rams(self) -> tuple[MemoryRegion, ...]:
        """Other memories that may hold a part of the arena, by speed and then size. A board whose framework has no
        known way to put a variable there has none."""
        arduino = self.platformio is not None and self.platformio.framework == "arduino"
        if not (self.emulated or self.espressif is not None or arduino):
            return ()
        return tuple(sorted((r for r in self.ram[1:] if r.arena), key=lambda r: (r.access_cycles, -r.size)))
