"""Read the flash and RAM of a linked firmware from its ELF file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arenite.errors import ToolError
from arenite.firmware.generator.model_source import GUARD_BYTES


@dataclass(frozen=True)
class ElfSizes:
    """The sizes of a linked firmware, in bytes.

    ``code`` is everything in flash except weights and biases, including the initial values of data. In a firmware that
    takes updates, all constants of the model count as ``weights``. ``arena_slow`` is the part of ``arena`` that is in a
    second memory. ``stack_reserved`` is the size of the section for the stack, or 0 if it is not known.
    """

    weights: int
    code: int
    arena: int
    static: int  # .data, .bss, .noinit and the arena's guard words
    stack_reserved: int
    arena_slow: int = 0

    @property
    def flash_total(self) -> int:
        return self.weights + self.code

    def with_tables(self, nbytes: int) -> ElfSizes:
        """Return the sizes if ``nbytes`` in the section of the weights are tables, which count as code."""
        return replace(self, weights=self.weights - nbytes, code=self.code + nbytes)


def read_elf(path: Path) -> ElfSizes:
    """Return the sizes of a linked firmware. Raises ``ToolError`` when the file is not an ELF.

    Arenite's linker scripts have separate sections for arena, weights and stack. With another linker script (of a real
    board's framework), arena and weights are identified by their symbols, and the framework counts as code and static
    data.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            sections = {s.name: s["sh_size"] for s in elf.iter_sections()}
            return _arenite_sizes(sections) if ".arena" in sections else _framework_sizes(elf)
    except (OSError, ELFError) as error:
        raise ToolError(f"Cannot read {path}: {error}.", "Build the project again.") from error


def _arenite_sizes(sections: Mapping[str, int]) -> ElfSizes:
    """Return the sizes of a firmware that Arenite's linker script linked. ``sections`` has the bytes of each
    section."""

    def total(*names: str) -> int:
        return sum(sections.get(n, 0) for n in names)

    slow = total(".arena_slow")
    guards = GUARD_BYTES * (2 if slow else 1)
    return ElfSizes(
        weights=total(".weights", ".model"),
        code=total(".vectors", ".text", ".data"),
        arena=total(".arena", ".arena_slow") - guards,
        static=total(".data", ".bss", ".noinit") + guards,
        stack_reserved=total(".stack"),
        arena_slow=slow - GUARD_BYTES if slow else 0,
    )


def _framework_sizes(elf: Any) -> ElfSizes:
    """Return the sizes of a firmware that another linker script linked: flash is all loaded data, RAM all writable
    data."""
    allocated, writable = 2, 1  # SHF_ALLOC and SHF_WRITE
    flash = ram = 0
    for section in elf.iter_sections():
        if section["sh_flags"] & allocated:
            flash += 0 if section["sh_type"] == "SHT_NOBITS" else section["sh_size"]
            ram += section["sh_size"] if section["sh_flags"] & writable else 0
    table = elf.get_section_by_name(".symtab")
    symbols = list(table.iter_symbols()) if table is not None else []
    arena = sum(s["st_size"] for s in symbols if s.name == "model_memory") - GUARD_BYTES
    if arena <= 0:
        raise ToolError("The firmware has no arena.", "Build a project that `arenite firmware` wrote.")
    slow = max(sum(s["st_size"] for s in symbols if s.name == "model_slow_memory") - GUARD_BYTES, 0)
    # ``ConstantPool.add`` gives weights these names.
    weights = sum(s["st_size"] for s in symbols if re.match(r"model\d+_", s.name))
    return ElfSizes(weights, flash - weights, arena + slow, ram - arena - slow, 0, slow)
