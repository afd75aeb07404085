"""The addresses of boot loader, state, slots and scratch on a board whose images can be replaced."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.errors import UsageError
from arenite.profiles.board import Board

#: The bytes of an image before its payload. The vector table of firmware is at the start of the payload, and must be
#: aligned to the power of two that is not less than its size.
FIRMWARE_HEADER_BYTES = 512
MODEL_HEADER_BYTES = 64


@dataclass(frozen=True)
class Area:
    """A range of addresses from ``origin`` to ``origin + size - 1``. ``size`` is in bytes."""

    origin: int
    size: int

    @property
    def end(self) -> int:
        return self.origin + self.size


@dataclass(frozen=True)
class UpdateLayout:
    """The areas of a board. Firmware and model run from their slots 0, and updates are written to their slots 1.

    Attributes:
        page_bytes: The bytes that are erased together.
        unit_bytes: The bytes that are programmed together.
        state: The state of updates, which only ``ar_boot`` writes.
        scratch: The area that the boot loader needs to swap the contents of two slots.
        firmware_header_bytes: The offset of the vector table in a firmware slot.
        model_header_bytes: The offset of the payload in a model slot.
    """

    page_bytes: int
    unit_bytes: int
    loader: Area
    state: Area
    firmware: tuple[Area, Area]
    model: tuple[Area, Area]
    scratch: Area
    firmware_header_bytes: int = FIRMWARE_HEADER_BYTES
    model_header_bytes: int = MODEL_HEADER_BYTES


def update_layout(board: Board) -> UpdateLayout:
    """Return the layout of ``board``. Raises ``UsageError`` if its profile has none."""
    update = board.update
    if update is None:
        raise UsageError(
            f"The board {board.name} has no boot loader for updates: its profile has no table [update].",
            "Choose another board, or see docs/update-install.md for what such a table says.",
        )
    sizes = (
        update.state_bytes,
        *[update.firmware_bytes] * 2,
        *[update.model_bytes] * 2,
        update.scratch_bytes,
    )
    areas, at = [], update.origin
    for size in sizes:
        areas.append(Area(at, size))
        at += size
    state, firmware_0, firmware_1, model_0, model_1, scratch = areas
    return UpdateLayout(
        page_bytes=update.page_bytes,
        unit_bytes=update.unit_bytes,
        loader=Area(board.flash[0].origin, update.loader_bytes),
        state=state,
        firmware=(firmware_0, firmware_1),
        model=(model_0, model_1),
        scratch=scratch,
    )
