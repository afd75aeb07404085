"""Read the segments of an ELF that are loaded into a chip's memory, and convert them to one raw image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from arenite.errors import UsageError
from arenite.files import write_atomic

#: If the gap between two segments is larger than this number of bytes, they are in different memories.
_MAX_GAP = 1 << 20
ERASED = b"\xff"


@dataclass(frozen=True)
class Segment:
    """Data that must be at the load address ``address`` before the program starts."""

    address: int
    data: bytes

    @property
    def end(self) -> int:
        return self.address + len(self.data)


@dataclass(frozen=True)
class Program:
    """The segments of a program, sorted by address, and the address ``entry`` of its entry point. No segment is empty,
    and there is a gap between any two segments."""

    segments: tuple[Segment, ...]
    entry: int

    @property
    def nbytes(self) -> int:
        """The number of bytes to load."""
        return sum(len(segment.data) for segment in self.segments)


def read_program(elf: Path) -> Program:
    """Read the loadable segments of ``elf``. Raises UsageError if it is not an ELF, or has no such segment."""
    try:
        with elf.open("rb") as stream:
            file = ELFFile(stream)
            parts = [
                Segment(segment["p_paddr"], segment.data())
                for segment in file.iter_segments()
                if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]
            ]
            entry = file["e_entry"]
    except FileNotFoundError as error:
        raise UsageError(f"The firmware {elf} does not exist.", "Build it with `arenite build`.") from error
    except (ELFError, ValueError) as error:
        raise UsageError(
            f"{elf} is not an ELF file: {error}.", "Build it again with `arenite build`."
        ) from error
    if not parts:
        raise UsageError(f"{elf} has no loadable segment.", "Build it again with `arenite build`.")
    return Program(tuple(_join_adjacent(sorted(parts, key=lambda part: part.address), elf)), entry)


def _join_adjacent(parts: list[Segment], elf: Path) -> list[Segment]:
    joined: list[Segment] = []
    for part in parts:
        if joined and part.address < joined[-1].end:
            raise UsageError(f"{elf}: two segments overlap at {part.address:#x}.", "Check the linker script.")
        if joined and part.address == joined[-1].end:
            joined[-1] = Segment(joined[-1].address, joined[-1].data + part.data)
        else:
            joined.append(part)
    return joined


def flat_image(program: Program) -> Segment:
    """Return one image with all segments. Gaps are filled with 0xff, the value of erased flash. Raises UsageError if a
    gap is too large."""
    first = program.segments[0]
    data = bytearray(first.data)
    for segment in program.segments[1:]:
        gap = segment.address - (first.address + len(data))
        if gap > _MAX_GAP:
            raise UsageError(
                f"The program has parts at {first.address:#x} and {segment.address:#x}, too far apart for"
                " a single image.",
                "Use a tool that loads the ELF: openocd or pyocd.",
            )
        data += ERASED * gap + segment.data
    return Segment(first.address, bytes(data))


def raw_image(elf: Path) -> tuple[Path, int]:
    """Write the raw image of ``elf`` beside it, and return its path and address."""
    image = flat_image(read_program(elf))
    path = elf.with_suffix(".flash.bin")
    write_atomic(path, image.data)
    return path, image.address
