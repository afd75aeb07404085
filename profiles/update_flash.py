"""Read the table ``[update]`` of a board profile: how the flash memory is divided on a device whose images can be
replaced.

A device keeps this layout for ever, because its boot loader is never replaced. So the numbers are in the profile, and
nothing computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arenite.errors import ProfileError
from arenite.profiles.board_fields import BoardTable

#: The largest unit that the state store of the firmware can program (AR_STORE_MAX_UNIT).
MAX_UNIT_BYTES = 32
#: Families of real boards whose flash memories have a driver.
FAMILIES = ("nrf51", "nrf52", "stm32l4", "stm32g0", "stm32f4", "stm32h7", "rp2040", "samd21", "samd51")
_SIZES = ("origin", "loader_bytes", "state_bytes", "firmware_bytes", "model_bytes", "scratch_bytes")
#: The state store needs two pages at least: the one with the newest record is never erased.
_MIN_STATE_PAGES = 2


class Memory(Protocol):
    """A region of the board's memory, such as a ``MemoryRegion``."""

    @property
    def name(self) -> str: ...

    @property
    def origin(self) -> int: ...

    @property
    def size(self) -> int: ...


@dataclass(frozen=True)
class UpdateFlash:
    """The division of a flash memory.

    The boot loader has the first ``loader_bytes`` bytes of the board's first flash region. At ``origin`` begin, one
    after the other: the state of updates, two slots for firmware, two slots for a model, and the scratch.

    Attributes:
        page_bytes: The bytes that are erased together.
        unit_bytes: The bytes that are programmed together.
        check_bits: The units have check bits. Each unit is programmed once after an erasure, and one that a power cut
            damaged cannot be read.
        family: The driver of the flash memory of a real board. None: that of the emulator's family.
        tx_pin: The pin on which the boot loader of an nRF52 explains why no image may run, 32 × port + pin. None: it
            has no serial port, and stays silent.
    """

    page_bytes: int
    unit_bytes: int
    origin: int
    loader_bytes: int
    state_bytes: int
    firmware_bytes: int
    model_bytes: int
    scratch_bytes: int
    check_bits: bool = False
    family: str | None = None
    tx_pin: int | None = None

    @property
    def end(self) -> int:
        """The address after the last area."""
        return (
            self.origin + self.state_bytes + 2 * (self.firmware_bytes + self.model_bytes) + self.scratch_bytes
        )


def parse_update(
    table: BoardTable, location: str, flash: Sequence[Memory], ram: Sequence[Memory]
) -> UpdateFlash:
    """Return the contents of the table ``[update]``. ``location`` is the name of the file.

    The areas must be in the board's first flash region, or in a second RAM region of an emulated board that keeps
    its content.

    Raises:
        ProfileError: A field is missing or misspelt, or the areas do not fit the memory.
    """
    sizes = {name: table.get(name, int) for name in ("page_bytes", "unit_bytes", *_SIZES)}
    family = table.choice("family", FAMILIES) if table.get("family", str, "") else None
    tx_pin = table.get("tx_pin", int, -1)
    result = UpdateFlash(
        **sizes,
        check_bits=table.get("check_bits", bool, False),
        family=family,
        tx_pin=None if tx_pin == -1 else tx_pin,
    )
    table.finish()
    where = f"{location} [update]"
    page, unit = result.page_bytes, result.unit_bytes
    if unit not in (1, 2, 4, 8, 16, MAX_UNIT_BYTES):
        raise ProfileError(
            f"{where}: 'unit_bytes' must be a power of two up to {MAX_UNIT_BYTES}, but is {unit}."
        )
    if page == 0 or page % unit:
        raise ProfileError(
            f"{where}: 'page_bytes' must be a positive multiple of 'unit_bytes', but is {page}."
        )
    if result.tx_pin is not None and result.tx_pin >= 64:
        raise ProfileError(f"{where}: 'tx_pin' must be less than 64, but is {result.tx_pin}.")
    for name in _SIZES:
        value = sizes[name]
        if value % page or (value == 0 and name != "origin"):
            raise ProfileError(
                f"{where}: '{name}' must be a positive multiple of 'page_bytes' ({page}), but is {value}."
            )
    if result.state_bytes < _MIN_STATE_PAGES * page:
        raise ProfileError(
            f"{where}: 'state_bytes' must be at least {_MIN_STATE_PAGES} pages ({_MIN_STATE_PAGES * page} bytes), "
            f"but is {result.state_bytes}."
        )
    code = flash[0]
    if result.loader_bytes > code.size:
        raise ProfileError(
            f"{where}: 'loader_bytes' is {result.loader_bytes}, but {code.name} has {code.size} bytes."
        )
    loader_end = code.origin + result.loader_bytes
    memories = [(loader_end, code.origin + code.size)] + [(r.origin, r.origin + r.size) for r in ram[1:]]
    if not any(start <= result.origin and result.end <= end for start, end in memories):
        raise ProfileError(
            f"{where}: the areas from {result.origin:#x} to {result.end:#x} are not in one memory of the board.",
            "They must be behind the boot loader in the first flash region, or in a RAM region after the first one.",
        )
    return result
