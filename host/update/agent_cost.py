"""Predict what the agent of a fleet adds to the program of ``arenite update build --agent``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arenite.converters.graph.model import Model
from arenite.errors import UsageError
from arenite.firmware.boards.cores import nearest_core
from arenite.firmware.update.program import AgentShape
from arenite.host.update.agent_shape import agent_shape
from arenite.profiles.board import Board

#: Bytes of flash memory by core, for the agent without classes and statistics of the input, with the statistics, with
#: classes, and with both. ``python -m tests.firmware.agent.sizes`` measures them, with arm-none-eabi-gcc 12.2.1.
EMULATED_FLASH_BYTES = {
    "cortex-m0": (1272, 1416, 1332, 1512),
    "cortex-m3": (1192, 1360, 1284, 1444),
    "cortex-m4f": (1192, 1360, 1284, 1444),
    "cortex-m7": (1188, 1352, 1276, 1436),
}
#: The same for an ESP32, by the core that the compiler is for. ``python -m tests.firmware.agent.esp_sizes`` measures
#: them with -O2, with riscv64-unknown-elf-gcc 12.2.0 and xtensa-lx106-elf-gcc 12.2.0.
ESP_FLASH_BYTES = {
    "rv32imc": (1923, 2025, 2053, 2155),
    "rv32imac": (1923, 2025, 2053, 2155),
    "rv32imafc": (1923, 2025, 2053, 2155),
    "xtensa-lx106": (1723, 1820, 1841, 1936),
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
    flash = EMULATED_FLASH_BYTES[board.core] if board.espressif is None else _esp_flash(board)
    return AgentCost(ram_bytes(shape), flash[2 * (shape.classes > 0) + shape.has_input])


def has_agent(board: Board) -> bool:
    """Return whether ``arenite update build --agent`` builds for ``board``."""
    is_emulated = board.update is not None and board.emulator is not None
    return board.espressif is not None or (is_emulated and board.core in EMULATED_FLASH_BYTES)


def _esp_flash(board: Board) -> tuple[int, int, int, int]:
    return ESP_FLASH_BYTES[nearest_core(board.core).name]


def ram_bytes(shape: AgentShape) -> int:
    """Return the bytes of static RAM. On an ESP32, four of them are in the RTC memory."""
    counts = _LATENCY_BUCKETS + (shape.classes + _BINS if shape.classes else 0) + 2 * _BINS * shape.has_input
    # The number of inferences, counts of 16 bits and two bins, in whole words.
    observations = 4 * -(-(4 + 2 * counts + 2) // 4)
    return observations + _STATE_BYTES + _OTHER_BYTES
