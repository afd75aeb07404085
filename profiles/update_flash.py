"""Read the table ``[update]`` of a board profile: how the flash memory is divided on a device whose images can be
replaced.

A device keeps this layout for ever, because its boot loader is never replaced. So the numbers are in the profile, and
nothing computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

from arenite.errors import ProfileError
from arenite.profiles.board_fields import BoardTable

#: The largest unit that the state store of the firmware can program (AR_STORE_MAX_UNIT).
MAX_UNIT_BYTES = 32
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
    """

    page_bytes: int
    unit_bytes: int
    origin: int
    loader_bytes: int
    state_bytes: int
    firmware_bytes: int
    model_bytes: int
    scratch_bytes: int

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
    result = UpdateFlash(**{field.name: table.get(field.name, int) for field in fields(UpdateFlash)})
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
    for field in fields(UpdateFlash)[2:]:
        value = getattr(result, field.name)
        if value % page or (value == 0 and field.name != "origin"):
            raise ProfileError(
                f"{where}: '{field.name}' must be a positive multiple of 'page_bytes' ({page}), but is {value}."
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
