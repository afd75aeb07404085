"""An emulated Cortex-M4 board that serves the Simple Management Protocol on its serial port."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arenite.firmware.sources import UPDATE
from arenite.host.emulator.machine import start
from arenite.profiles.boards import load_board
from tests.firmware.update.smp_device import sources

_SCRIPT = """
ENTRY(reset)
SECTIONS
{
    .text 0 : { KEEP(*(.vectors)) *(.text .text.* .rodata .rodata.*) }
    .bss 0x20000000 (NOLOAD) : { bss_start = .; *(.bss .bss.* COMMON) . = ALIGN(4); bss_end = .; }
    stack_top = 0x20008000;
    .noinit 0x20010000 (NOLOAD) : { *(.noinit) }
    /DISCARD/ : { *(.comment) *(.ARM.*) }
}
"""
_FLAGS = ("-mcpu=cortex-m4", "-mthumb", "-Os", "-std=c99", "-ffreestanding", "-Wall", "-Wextra", "-Werror")
_LINK = ("-nostdlib", "-fno-tree-loop-distribute-patterns")


class SmpBoard:
    """A running board. ``port`` is its serial port."""

    def __init__(self, folder: Path, port: str, slots_at: int, process: subprocess.Popen[bytes]) -> None:
        self.folder, self.port, self._slots_at, self._process = folder, port, slots_at, process

    def read_slot(self, number: int, count: int) -> bytes:
        """Return the first bytes of a slot, as they are in the board's memory."""
        path = self.folder / f"slot{number}.bin"
        path.unlink(missing_ok=True)
        arguments = {"val": self._slots_at + number * 65536, "size": count, "filename": str(path)}
        assert self._process.stdin is not None
        self._process.stdin.write(
            json.dumps({"execute": "pmemsave", "arguments": arguments}).encode() + b"\n"
        )
        self._process.stdin.flush()
        end = time.monotonic() + 60
        while not path.exists() or path.stat().st_size < count:
            assert time.monotonic() < end, "QEMU does not write the memory"
            time.sleep(0.01)
        return path.read_bytes()


@contextmanager
def run_board(folder: Path) -> Iterator[SmpBoard]:
    """Build the firmware, and run it until the block ends."""
    script, elf = folder / "link.ld", folder / "smp_board.elf"
    script.write_text(_SCRIPT)
    program = str(Path(__file__).with_name("smp_board.c"))
    command = [
        "arm-none-eabi-gcc",
        *_FLAGS,
        *UPDATE.include_flags,
        program,
        *sources(),
        *_LINK,
        f"-T{script}",
    ]
    subprocess.run([*command, "-lgcc", "-o", str(elf)], check=True)
    table = subprocess.run(["arm-none-eabi-nm", str(elf)], check=True, capture_output=True, text=True).stdout
    slots = re.search(r"^(\w+) \w slots$", table, re.MULTILINE)
    assert slots is not None
    with start(load_board("qemu_mps2_an386"), elf, icount=False) as machine:
        # The terminal stays open between the clients: QEMU looks only once a second whether one is there.
        descriptor = os.open(machine.port, os.O_RDWR | os.O_NOCTTY)
        machine.transport.close()
        try:
            yield SmpBoard(folder, machine.port, int(slots[1], 16), machine.process)
        finally:
            os.close(descriptor)
