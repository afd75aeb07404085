"""Flash and RAM of a linked firmware, read from its ELF."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arenite.converters.errors import ToolError

#: Guard words before and after the arena share its section, but count as static data.
GUARD_BYTES = 32


@dataclass(frozen=True)
class ElfSizes:
    """All in bytes. ``code`` is everything in flash but weights and biases, first values of data included."""

    weights: int
    code: int
    arena: int
    static: int  # .data, .bss, .noinit and the arena's guard words
    stack_reserved: int

    @property
    def flash_total(self) -> int:
        return self.weights + self.code


def read_elf(path: Path) -> ElfSizes:
    """Sizes of the sections of Arenite's linker scripts; ``ToolError`` for a file that is no such ELF."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with path.open("rb") as stream:
            sections = {s.name: s["sh_size"] for s in ELFFile(stream).iter_sections()}
    except (OSError, ELFError) as error:
        raise ToolError(f"Cannot read {path}: {error}.", "Build the project again.") from error
    if ".arena" not in sections:
        raise ToolError(f"{path} has no .arena section.", "It was not linked with a generated linker script.")

    def total(*names: str) -> int:
        return sum(sections.get(n, 0) for n in names)

    return ElfSizes(
        weights=total(".weights"),
        code=total(".vectors", ".text", ".data"),
        arena=total(".arena") - GUARD_BYTES,
        static=total(".data", ".bss", ".noinit") + GUARD_BYTES,
        stack_reserved=total(".stack"),
    )
