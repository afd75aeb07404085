"""Predict what the agent of a fleet adds to the program of ``arenite update build --agent``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arenite.converters.graph.model import Model
from arenite.errors import UsageError
from arenite.firmware.update.program import AgentShape
from arenite.host.update.agent_shape import agent_shape
from arenite.profiles.board import Board

#: Bytes of flash memory by core, for the agent without classes and statistics of the input, with the statistics, with
#: classes, and with both. ``python -m tests.firmware.agent.sizes`` measures them, with arm-none-eabi-gcc 12.2.1.
FLASH_BYTES = {
    "cortex-m0": (1272, 1416, 1332, 1512),
    "cortex-m3": (1192, 1360, 1284, 1444),
    "cortex-m4f": (1192, 1360, 1284, 1444),
    "cortex-m7": (1188, 1352, 1276, 1436),
}

_LATENCY_BUCKETS, _BINS = 96, 16
#: Number of the window, cause, boot, and three words of the time.
_STATE_BYTES = 24
#: The number of starts, and the longer lines that the serial port takes.
_OTHER_BYTES = 4 + 4


@dataclass(frozen=True)
class AgentCost:
    """Bytes that the agent adds. ``ram`` is exact, without the stack. ``flash`` depends on the compiler."""

    ram: int
    flash: int

    def to_json(self) -> dict[str, Any]:
        return {"ram": self.ram, "flash": {"value": self.flash, "kind": "estimated"}}


def agent_cost(model: Model, board: Board) -> AgentCost:
    """Return what the agent for ``model`` adds on ``board``. Raises ``UsageError`` if there is no program with an agent
    for the board."""
    if not has_agent(board):
        raise UsageError(
            f"There is no firmware with an agent for {board.name}.",
            "Choose a board for which `arenite update build` builds, such as qemu_mps2_an386.",
        )
    shape = agent_shape(model)
    return AgentCost(ram_bytes(shape), FLASH_BYTES[board.core][2 * (shape.classes > 0) + shape.has_input])


def has_agent(board: Board) -> bool:
    """Return whether ``arenite update build --agent`` builds for ``board``."""
    return board.update is not None and board.emulator is not None and board.core in FLASH_BYTES


def ram_bytes(shape: AgentShape) -> int:
    """Return the bytes of static RAM."""
    counts = _LATENCY_BUCKETS + (shape.classes + _BINS if shape.classes else 0) + 2 * _BINS * shape.has_input
    # The number of inferences, counts of 16 bits and two bins, in whole words.
    observations = 4 * -(-(4 + 2 * counts + 2) // 4)
    return observations + _STATE_BYTES + _OTHER_BYTES
