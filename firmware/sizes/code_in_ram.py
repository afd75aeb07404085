"""Predict the bytes of kernels that run from RAM, and of the veneers for calls between flash and RAM.

On an Arm core, a call instruction does not reach from flash to RAM. The linker lets it branch to a veneer in its own
memory, a few instructions that jump to the function. There is one veneer for each memory and function that is called
from it. Calls through addresses in tables or parameters need none. On RISC-V, calls reach everything.

A veneer needs no stack of its own: on a core with Thumb-1 it saves one register, and takes it back before the function
begins, whose frame is larger.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from arenite.firmware.sizes.object_files import ObjectSet, is_library

#: Cores with Thumb-1, which has no instruction that loads the program counter from memory.
_THUMB1_CORES = ("cortex-m0", "cortex-m0plus", "cortex-m23")


@dataclass(frozen=True)
class CodeInRam:
    """Bytes in RAM: ``kernels`` and ``ram_veneers``, which flash holds too. ``flash_veneers`` are in flash only."""

    kernels: int
    ram_veneers: int
    flash_veneers: int

    @property
    def ram(self) -> int:
        """The bytes that code takes of the RAM."""
        return self.kernels + self.ram_veneers

    @property
    def added_flash(self) -> int:
        """The bytes of flash that the same firmware with all code in flash does not need."""
        return self.ram_veneers + self.flash_veneers


def code_in_ram(
    objects: ObjectSet, live: Collection[str], engine: ObjectSet, called: Collection[str], core: str
) -> CodeInRam:
    """Return the bytes of code in RAM if every function of ``engine`` is there.

    ``objects`` has all sections of the firmware, of which those in ``live`` are linked. ``called`` are the kernels that
    functions of the model call.
    """
    text = {node for node in live if objects.sections[node].kind == "text"}
    in_ram = {node for node in text if node in engine.sections and not is_library(node)}
    veneer = _veneer_bytes(core)

    def called_from(callers: set[str]) -> set[str]:
        return {ref for node in callers for ref in objects.sections[node].refs}

    def veneers(symbols: set[str], where: set[str]) -> int:
        return veneer * len({s for s in symbols if objects.symbols.get(s) in where})

    return CodeInRam(
        kernels=sum(-(-objects.sections[node].size // 4) * 4 for node in in_ram),
        ram_veneers=veneers(called_from(in_ram), text - in_ram),
        flash_veneers=veneers(called_from(text - in_ram) | set(called), in_ram),
    )


def _veneer_bytes(core: str) -> int:
    """Return the bytes of a veneer of GNU ld."""
    if not core.startswith("cortex-m"):
        return 0
    return 16 if core in _THUMB1_CORES else 8
