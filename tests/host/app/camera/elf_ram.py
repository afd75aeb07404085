"""Read the size of the RAM of a linked application."""

from __future__ import annotations

import subprocess
from pathlib import Path

#: The first address of the RAM of the boards qemu_mps2_*.
RAM = 0x20000000


def ram_of(elf: Path) -> int:
    """Return the bytes of all sections in RAM: stack, arena, .data, .bss and .noinit."""
    table = subprocess.run(["arm-none-eabi-size", "-A", elf], capture_output=True, text=True, check=True)
    rows = [line.split() for line in table.stdout.splitlines()]
    return sum(int(row[1]) for row in rows if len(row) == 3 and row[2].isdigit() and int(row[2]) >= RAM)
