"""The parts of an ELF that are loaded into a chip's memory: its segments, and the same as one raw image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from arenite.errors import UsageError
from arenite.files import write_atomic

#: A gap larger than this between two segments means that they are in different memories.
_LARGEST_GAP = 1 << 20
ERASED = b"\xff"


@dataclass(frozen=True)
class Segment:
    """``data`` has to be at ``address`` (the load address, in flash) before the program starts."""

    address: int
    data: bytes

    @property
    def end(self) -> int:
        return self.address + len(self.data)


@dataclass(frozen=True)
class Program:
    """Segments by address, none empty, none adjacent to the next; and the program's entry point."""

    segments: tuple[Segment, ...]
    entry: int

    @property
    def nbytes(self) -> int:
        """Number of bytes to load."""
        return sum(len(segment.data) for segment in self.segments)


def read_program(elf: Path) -> Program:
    """The loadable contents of ``elf``. Raises UsageError when it is not an ELF, or has nothing to load."""
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
    return Program(tuple(_joined(sorted(parts, key=lambda part: part.address), elf)), entry)


def _joined(parts: list[Segment], elf: Path) -> list[Segment]:
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
    """All segments as one image, gaps erased. Raises UsageError when they are too far apart for that."""
    first = program.segments[0]
    data = bytearray(first.data)
    for segment in program.segments[1:]:
        gap = segment.address - (first.address + len(data))
        if gap > _LARGEST_GAP:
            raise UsageError(
                f"The program has parts at {first.address:#x} and {segment.address:#x}, too far apart for"
                " a single image.",
                "Use a tool that loads the ELF: openocd or pyocd.",
            )
        data += ERASED * gap + segment.data
    return Segment(first.address, bytes(data))


def raw_image(elf: Path) -> tuple[Path, int]:
    """The raw image of ``elf``, written beside it, and its address."""
    image = flat_image(read_program(elf))
    path = elf.with_suffix(".flash.bin")
    write_atomic(path, image.data)
    return path, image.address
