"""What of an ELF goes into a chip's memory: its loadable segments, and the same as one raw image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from arenite.errors import UsageError
from arenite.files import write_atomic

#: A gap larger than this between two segments means that they lie in different memories.
_LARGEST_GAP = 1 << 20
ERASED = b"\xff"


@dataclass(frozen=True)
class Segment:
    """``data`` is to stand at ``address`` (the load address, in flash) before the program starts."""

    address: int
    data: bytes

    @property
    def end(self) -> int:
        return self.address + len(self.data)


@dataclass(frozen=True)
class Program:
    """Segments by address, none empty, none touching the next; and where the program begins."""

    segments: tuple[Segment, ...]
    entry: int

    @property
    def nbytes(self) -> int:
        """Bytes to be loaded."""
        return sum(len(segment.data) for segment in self.segments)


def read_program(elf: Path) -> Program:
    """The loadable contents of ``elf``.  Raises UsageError when it is no ELF, or has nothing to load."""
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
        raise UsageError(f"There is no firmware {elf}.", "Build it with `arenite build`.") from error
    except (ELFError, ValueError) as error:
        raise UsageError(f"{elf} is no ELF file: {error}.", "Build it again with `arenite build`.") from error
    if not parts:
        raise UsageError(f"{elf} has nothing to load.", "Build it again with `arenite build`.")
    return Program(tuple(_joined(sorted(parts, key=lambda part: part.address), elf)), entry)


def _joined(parts: list[Segment], elf: Path) -> list[Segment]:
    done: list[Segment] = []
    for part in parts:
        if done and part.address < done[-1].end:
            raise UsageError(
                f"{elf}: two segments overlap at {part.address:#x}.", "Look at its linker script."
            )
        if done and part.address == done[-1].end:
            done[-1] = Segment(done[-1].address, done[-1].data + part.data)
        else:
            done.append(part)
    return done


def flat_image(program: Program) -> Segment:
    """All segments as one, gaps erased.  Raises UsageError when they lie too far apart for that."""
    first = program.segments[0]
    data = bytearray(first.data)
    for segment in program.segments[1:]:
        gap = segment.address - (first.address + len(data))
        if gap > _LARGEST_GAP:
            raise UsageError(
                f"The program has parts at {first.address:#x} and {segment.address:#x}: no single image can hold it.",
                "Use a tool that takes the ELF: openocd or pyocd.",
            )
        data += ERASED * gap + segment.data
    return Segment(first.address, bytes(data))


def raw_image(elf: Path) -> tuple[Path, int]:
    """A raw image beside ``elf``, made from it, and the address that it belongs at."""
    image = flat_image(read_program(elf))
    path = elf.with_suffix(".flash.bin")
    write_atomic(path, image.data)
    return path, image.address
