# SPDX-License-Identifier: MIT
"""Run a program with the driver of the RP2040's flash memory on a Cortex-M0: ``python rp2040_machine.py DESCRIPTION``.

This file is a program of its own, because it loads the library Unicorn, which has the GNU General Public License,
version 2. It imports nothing of Arenite. DESCRIPTION is a JSON object: ``segments`` is [address, bytes as hexadecimal]
of each part to load, ``start`` and ``end`` are the addresses of the program's first instruction and of that at which it
ends, and ``boot`` is the address of the driver's copy of the second stage.

The boot ROM has its table of functions and its function that searches it; what these functions do is in Python. While
the memory works, it can be neither read nor executed. The program prints an object with the calls, and with the bytes
at 0x20000000.
"""

from __future__ import annotations

import importlib
import json
import struct
import sys
from typing import Any

# Loaded without an import statement, because the package's types are incomplete.
unicorn: Any = importlib.import_module("unicorn")
arm: Any = importlib.import_module("unicorn.arm_const")

FLASH, FLASH_BYTES, RAM, RAM_BYTES = 0x10000000, 0x200000, 0x20000000, 0x40000
TABLE, LOOKUP, FUNCTIONS = 0x100, 0x200, 0x300
NAMES = ("IF", "EX", "RE", "RP", "FC")
RETURN = b"\x70\x47"  # bx lr


class Machine:
    def __init__(self, description: dict[str, Any]) -> None:
        self.calls: list[list[int | str]] = []
        self.changed: list[tuple[int, int]] = []
        self.cpu = cpu = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        cpu.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M0)
        for at, size in ((0, 0x4000), (FLASH, FLASH_BYTES), (RAM, RAM_BYTES), (0x40020000, 0x1000)):
            cpu.mem_map(at, size)
        self.content = bytearray(b"\xff" * FLASH_BYTES)
        rom = bytearray(0x400)
        struct.pack_into("<HHH", rom, 0x14, TABLE, 0, LOOKUP | 1)
        for k, name in enumerate(NAMES):
            struct.pack_into("<2sH", rom, TABLE + 4 * k, name.encode(), FUNCTIONS + 4 * k | 1)
            rom[FUNCTIONS + 4 * k : FUNCTIONS + 4 * k + 2] = RETURN
        rom[LOOKUP : LOOKUP + 2] = RETURN
        cpu.mem_write(0, bytes(rom))
        for at, text in description["segments"]:
            data = bytes.fromhex(text)
            if FLASH <= at < FLASH + FLASH_BYTES:
                self.content[at - FLASH : at - FLASH + len(data)] = data
            else:
                cpu.mem_write(at, data)
        self.content[:2] = RETURN  # the second stage; a segment may begin with headers of the file
        cpu.mem_write(FLASH, bytes(self.content))
        cpu.hook_add(unicorn.UC_HOOK_CODE, self._rom, None, LOOKUP, FUNCTIONS + 4 * len(NAMES))
        cpu.hook_add(
            unicorn.UC_HOOK_CODE, self._second_stage, None, description["boot"], description["boot"] + 1
        )
        cpu.reg_write(arm.UC_ARM_REG_SP, RAM + RAM_BYTES)
        try:
            cpu.emu_start(description["start"] | 1, description["end"])
        except unicorn.UcError as error:
            raise SystemExit(f"{error} at {cpu.reg_read(arm.UC_ARM_REG_PC):#x} after {self.calls}") from error

    def _registers(self) -> list[int]:
        names = (arm.UC_ARM_REG_R0, arm.UC_ARM_REG_R1, arm.UC_ARM_REG_R2, arm.UC_ARM_REG_R3)
        return [self.cpu.reg_read(name) for name in names]

    def _rom(self, _: Any, at: int, size: int, data: Any) -> None:
        first, second, third, fourth = self._registers()
        if at == LOOKUP:
            name = chr(second & 255) + chr(second >> 8)
            found = FUNCTIONS + 4 * NAMES.index(name) | 1 if first == TABLE and name in NAMES else 0
            self.cpu.reg_write(arm.UC_ARM_REG_R0, found)
            return
        name = NAMES[(at - FUNCTIONS) // 4]
        masked = self.cpu.reg_read(arm.UC_ARM_REG_PRIMASK)
        self.calls.append([name, masked])
        if name == "IF":
            self.cpu.mem_protect(FLASH, FLASH_BYTES, unicorn.UC_PROT_NONE)
        elif name == "RE":
            self.calls[-1] += [first, second, third, fourth]
            self.content[first : first + second] = b"\xff" * second
            self.changed.append((first, second))
        elif name == "RP":
            self.calls[-1] += [first, third]
            for k, byte in enumerate(self.cpu.mem_read(second, third)):
                self.content[first + k] &= byte
            self.changed.append((first, third))

    def _second_stage(self, _: Any, at: int, size: int, data: Any) -> None:
        self.calls.append(["boot", self.cpu.reg_read(arm.UC_ARM_REG_PRIMASK)])
        self.cpu.mem_protect(FLASH, FLASH_BYTES, unicorn.UC_PROT_ALL)
        for first, count in self.changed:
            self.cpu.mem_write(FLASH + first, bytes(self.content[first : first + count]))
        self.changed = []


def main() -> int:
    machine = Machine(json.loads(sys.argv[1]))
    result = bytes(machine.cpu.mem_read(RAM, 64)).hex()
    masked = machine.cpu.reg_read(arm.UC_ARM_REG_PRIMASK)
    print(json.dumps({"calls": machine.calls, "result": result, "masked": masked}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
