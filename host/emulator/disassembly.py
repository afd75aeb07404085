"""Disassemble a firmware's basic blocks with the toolchain's own disassembler.

Only blocks that ran are disassembled: their bytes are concatenated into one file. Each block contains only complete
instructions, so literals and padding between functions cannot misalign the disassembler.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import ToolError
from arenite.firmware.boards.cores import core_named
from arenite.host.emulator.block_counts import Block

#: objdump's options -m (architecture) and -M, by the prefix of a core's name. The longest matching prefix counts.
_MACHINES = {
    "cortex-m0": ("armv6s-m", "force-thumb"),
    "cortex-m23": ("armv8-m.base", "force-thumb"),
    "cortex-m3": ("armv7e-m", "force-thumb"),
    "cortex-m33": ("armv8-m.main", "force-thumb"),
    "cortex-m4": ("armv7e-m", "force-thumb"),
    "cortex-m7": ("armv7e-m", "force-thumb"),
    "cortex-m55": ("armv8.1-m.main", "force-thumb"),
    "cortex-m85": ("armv8.1-m.main", "force-thumb"),
    "rv32": ("riscv:rv32", ""),
    "xtensa": ("xtensa", ""),
}
_LINE = re.compile(r"^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t(.*)$")


@dataclass(frozen=True)
class Instruction:
    """One machine instruction: its mnemonic and operands as objdump prints them, and its length in bytes."""

    mnemonic: str
    operands: str
    size: int


def disassemble(elf: Path, core: str, blocks: Iterable[Block]) -> dict[Block, tuple[Instruction, ...]]:
    """Return the instructions of each block, in order. Raises ``ToolError`` if the disassembler is missing or fails."""
    unique = sorted(set(blocks), key=lambda b: (b.start, b.end))
    image = _Image(elf)
    parts = [image.bytes_at(b.start, b.end - b.start) for b in unique]
    listing = _listing(b"".join(parts), core)
    listings = {}
    at = 0
    for block, part in zip(unique, parts, strict=True):
        instructions = []
        end = at + len(part)
        while at < end:
            if at not in listing:
                raise ToolError(f"The disassembler returned no instruction for {block.start:#x}.")
            instructions.append(listing[at])
            at += listing[at].size
        if at != end:
            raise ToolError(f"The disassembler and the emulator disagree on the block at {block.start:#x}.")
        listings[block] = tuple(instructions)
    return listings


class _Image:
    """The bytes of an ELF file's sections, read by the address at which they run."""

    def __init__(self, elf: Path) -> None:
        from elftools.elf.elffile import ELFFile

        with elf.open("rb") as stream:
            self._sections = [
                (s["sh_addr"], s.data())
                for s in ELFFile(stream).iter_sections()
                if s["sh_flags"] & 2 and s["sh_type"] == "SHT_PROGBITS"  # 2: SHF_ALLOC
            ]

    def bytes_at(self, address: int, length: int) -> bytes:
        for start, data in self._sections:
            if start <= address and address + length <= start + len(data):
                return data[address - start : address - start + length]
        raise ToolError(f"The firmware ran code at {address:#x}, which is not in its ELF.")


def _listing(code: bytes, core: str) -> dict[int, Instruction]:
    """Return the instructions by their offset in ``code``."""
    machine, option = next(
        _MACHINES[k] for k in sorted(_MACHINES, key=len, reverse=True) if core.startswith(k)
    )
    program = core_named(core).prefix + "objdump"
    with tempfile.NamedTemporaryFile(prefix="arenite-", suffix=".bin") as file:
        file.write(code)
        file.flush()
        command = [program, "-D", "-z", "-b", "binary", "-m", machine]
        command += [*(("-M", option) if option else ()), file.name]
        try:
            process = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise ToolError(
                f"The disassembler {program} is missing.",
                f"Install it: apt install {core_named(core).package}",
            ) from error
    if process.returncode:
        raise ToolError(f"{program} failed: {process.stderr.strip()[:200]}")
    listing = {}
    for line in process.stdout.splitlines():
        if match := _LINE.match(line):
            digits = match[2].replace(" ", "")
            mnemonic, _, operands = match[3].partition("\t")
            # objdump adds a remark behind a comment sign.
            operands = re.split(r"\s*[;@#] |\s*<|\s+//", operands, maxsplit=1)[0].strip()
            listing[int(match[1], 16)] = Instruction(mnemonic.strip(), operands, len(digits) // 2)
    return listing
