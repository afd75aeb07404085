# SPDX-License-Identifier: MIT
"""Run a boot loader and a firmware on a model of an nRF52840: ``python nrf52_machine.py FLASH IMAGES``.

This file is a program of its own, because it loads the library Unicorn, which has the GNU General Public License,
version 2. It imports nothing of Arenite. FLASH is the content of the flash memory, IMAGES what the firmware finds at
0x60000000.

Each line of standard input is a JSON object: ``cut`` is the operation on the flash memory in which power fails, or -1;
``command`` is what the firmware shall do; ``seed`` chooses what a cut leaves. The chip then starts, and runs until the
firmware has done it, asks for a reset, or power fails, or until the boot loader has sent a line. The answer is a line
with how it ended. The flash memory stays, and so does RAM after a reset that was asked for.

The model enforces the rules of the flash controller: the mode for each operation, whole pages, whole aligned words, one
write of a word after an erasure, nothing while an operation runs, and no change of the boot loader.
"""

from __future__ import annotations

import importlib
import json
import random
import struct
import sys
from pathlib import Path
from typing import Any

# Loaded without an import statement, because the package's types are incomplete.
unicorn: Any = importlib.import_module("unicorn")
arm: Any = importlib.import_module("unicorn.arm_const")

FLASH_BYTES, RAM_AT, RAM_BYTES, PAGE = 0x100000, 0x20000000, 0x40000, 4096
LOADER_BYTES, LOADER_RAM_AT, LOADER_STACK = 0x8000, 0x2003E800, 4096
IMAGES_AT, TEST = 0x60000000, 0x4F000000
UARTE, TIMER, WATCHDOG, NVMC, GPIO, SYSTEM = (
    0x40002000,
    0x40008000,
    0x40010000,
    0x4001E000,
    0x50000000,
    0xE000E000,
)
READ, WRITE, ERASE = 0, 1, 2
BUSY_READS = 3
PAINT = 0x5AC3A5E1
#: The timer advances by a tenth of a second at each reading.
TICKS = 1_600_000


class Chip:
    """One chip. ``flash`` is what the cells hold, ``written`` the words that were written since their erasure."""

    def __init__(self, flash: bytes, images: bytes) -> None:
        self.flash = bytearray(flash.ljust(FLASH_BYTES, b"\xff"))
        self.written = {at for at in range(0, len(flash), 4) if flash[at : at + 4] != b"\xff" * 4}
        self.images = images
        self.ram: bytes | None = None
        self.random = random.Random(0)

    def run(self, cut: int, command: int, seed: int) -> dict[str, Any]:
        """Start the chip, and return how it ended."""
        self.random.seed(seed)
        self.cut, self.command, self.operations, self.busy = cut, command, 0, 0
        self.mode, self.watchdog, self.ticks, self.vectors, self.stack = READ, False, 0, 0, 0
        self.text, self.end, self.problems = "", "", list[str]()
        self.report: list[int] = []
        self.registers: dict[int, int] = {}
        self.cpu = self._new_cpu()
        try:
            self.cpu.emu_start(struct.unpack_from("<I", self.flash, 4)[0] | 1, 0xFFFFFFF0)
        except unicorn.UcError as error:
            self.problems.append(f"{error} at {self.cpu.reg_read(arm.UC_ARM_REG_PC):#x}")
        self.ram = bytes(self.cpu.mem_read(RAM_AT, RAM_BYTES)) if self.end == "reset" else None
        return {
            "end": self.end,
            "report": self.report,
            "text": self.text,
            "operations": self.operations,
            "watchdog": self.watchdog,
            "vectors": self.vectors,
            "stack": self.stack,
            "problems": self.problems,
        }

    def _new_cpu(self) -> Any:
        cpu = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        cpu.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
        for at, size in ((0, FLASH_BYTES), (RAM_AT, RAM_BYTES), (IMAGES_AT, 0x100000)):
            cpu.mem_map(at, size)
        cpu.mem_write(0, bytes(self.flash))
        cpu.mem_write(RAM_AT, self.ram if self.ram is not None else self.random.randbytes(RAM_BYTES))
        cpu.mem_write(IMAGES_AT, self.images)
        for base in (UARTE, TIMER, WATCHDOG, NVMC, GPIO, SYSTEM, TEST):
            cpu.mmio_map(base, PAGE, self._read, base, self._write, base)
        cpu.hook_add(unicorn.UC_HOOK_MEM_WRITE, self._word_written, None, 0, FLASH_BYTES - 1)
        cpu.reg_write(arm.UC_ARM_REG_MSP, struct.unpack_from("<I", self.flash, 0)[0])
        return cpu

    def _stop(self, end: str) -> None:
        self.end = self.end or end
        self.cpu.emu_stop()

    def _fails_here(self) -> bool:
        self.operations += 1
        return self.operations - 1 == self.cut

    def _read(self, _: Any, offset: int, size: int, base: int) -> int:
        if base + offset == NVMC + 0x400:
            self.busy -= self.busy > 0
            return int(self.busy == 0)
        if base + offset == TIMER + 0x540:
            self.ticks = (self.ticks + TICKS) & 0xFFFFFFFF
            return self.ticks
        if base + offset == TEST + 0x40:
            return self.command
        return self.registers.get(base + offset, 0)

    def _write(self, _: Any, offset: int, size: int, value: int, base: int) -> None:
        at = base + offset
        self.registers[at] = value
        if base == NVMC:
            self._controller(offset, value)
        elif at == UARTE + 0x008:
            self._send()
        elif at == WATCHDOG:
            self.watchdog = self.registers.get(WATCHDOG + 0x504) == 8 * 32768
        elif at == SYSTEM + 0xD08:
            self.vectors = value
        elif at == SYSTEM + 0xD0C and value == 0x05FA0004:
            self._stop("reset")
        elif at == TEST:
            self.report.append(value)
            if len(self.report) == 1:
                self._measure_stack()
        elif at == TEST + 0x44:
            self._stop("done")

    def _controller(self, offset: int, value: int) -> None:
        if self.busy:
            self.problems.append("a register of the controller is written while it works")
        if offset == 0x504:
            self.mode = value
        elif offset == 0x508:
            self._erase(value)

    def _erase(self, at: int) -> None:
        if self.mode != ERASE or at % PAGE or not LOADER_BYTES <= at < FLASH_BYTES:
            self.problems.append(f"an erasure at {at:#x} in mode {self.mode}")
            return
        is_cut = self._fails_here()
        page = bytearray(b"\xff" * PAGE)
        self.written -= set(range(at, at + PAGE, 4))
        if is_cut:
            old = self.flash[at : at + PAGE]
            choices = (old, self.random.randbytes(PAGE), page[: PAGE // 2] + old[PAGE // 2 :], page)
            page = bytearray(self.random.choice(choices))
            self.written |= set(range(at, at + PAGE, 4))  # it must be erased again
        self.flash[at : at + PAGE] = page
        self.cpu.mem_write(at, bytes(page))
        self.busy = BUSY_READS
        if is_cut:
            self._stop("cut")

    def _word_written(self, _: Any, access: int, at: int, size: int, value: int, data: Any) -> None:
        if self.end:
            return
        if self.mode != WRITE or self.busy or size != 4 or at % 4 or at < LOADER_BYTES or at in self.written:
            self.problems.append(f"{size} bytes are written at {at:#x} in mode {self.mode}")
            self._stop("problem")
            return
        self.written.add(at)
        word = value & 0xFFFFFFFF
        is_cut = self._fails_here()
        if is_cut:
            word |= self.random.choice((0, 0xFFFFFFFF, self.random.getrandbits(32)))
        struct.pack_into("<I", self.flash, at, word)
        self.busy = BUSY_READS
        if is_cut:
            self._stop("cut")

    def _send(self) -> None:
        pin = self.registers.get(UARTE + 0x50C)
        if self.registers.get(UARTE + 0x500) != 8 or pin != 6 or self.registers.get(GPIO + 0x718) != 3:
            self.problems.append("the serial port sends without pin or permission")
        at, count = self.registers[UARTE + 0x544], self.registers[UARTE + 0x548]
        if not RAM_AT <= at < RAM_AT + RAM_BYTES:
            self.problems.append(f"the serial port sends from {at:#x}")
            return
        self.text += bytes(self.cpu.mem_read(at, count)).decode("latin-1")
        self.registers[UARTE + 0x120] = 1
        if self.text.endswith("\n"):
            self._stop("text")

    def _measure_stack(self) -> None:
        words = struct.unpack(f"<{LOADER_STACK // 4}I", self.cpu.mem_read(LOADER_RAM_AT, LOADER_STACK))
        unused = next((k for k, word in enumerate(words) if word != PAINT), len(words))
        self.stack = LOADER_STACK - 4 * unused


def main() -> int:
    chip = Chip(Path(sys.argv[1]).read_bytes(), Path(sys.argv[2]).read_bytes())
    for line in sys.stdin:
        request = json.loads(line)
        if "flash" in request:
            at, count = request["flash"]
            answer: dict[str, Any] = {"flash": chip.flash[at : at + count].hex()}
        else:
            answer = chip.run(request["cut"], request["command"], request["seed"])
        print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
