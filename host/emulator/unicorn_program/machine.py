# SPDX-License-Identifier: MIT
"""Run the firmware of an emulated board in Unicorn: ``python machine.py DESCRIPTION``, where the description is a JSON
object.

This file is a program of its own with its own license (see LICENSE in this folder), because it loads the library
Unicorn, which has the GNU General Public License, version 2. The program imports nothing of Arenite, and no module of
Arenite imports it. The two exchange bytes over pipes: standard input is what the board's serial port receives, standard
output is what it sends. The program ends when standard input ends.

The description has these keys:

* ``elf``: the path of the firmware; ``segments``: [address, offset in the file, bytes] of each part to load;
* ``memory``: [origin, bytes] of each memory, the program memory first;
* ``core``: a key of CORES; ``devices``: a key of DEVICES;
* ``ticks``: [ticks, instructions] is the rate of the board's timer; ``ns``: the nanoseconds of an instruction.

The program counts instructions per basic block, when the block begins. Two reads of the timer by the same instruction
therefore differ by the exact number of instructions between them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import struct
import sys
import threading
import time
from collections import deque
from typing import Any

# Loaded without an import statement, because the package's types are incomplete.
unicorn: Any = importlib.import_module("unicorn")
arm: Any = importlib.import_module("unicorn.arm_const")
riscv: Any = importlib.import_module("unicorn.riscv_const")

PAGE = 0x1000
MASK = 0xFFFFFFFF
#: The number of polls of an empty serial port in a row after which the machine waits for a byte.
IDLE_POLLS = 2
IDLE_WAIT_S = 0.01
OUTPUT_BYTES = 4096
#: The address at which the emulation would end, which the firmware never reaches.
NO_ADDRESS = 0xFFFFFFF0

#: The address of an Armv7-M core's own registers, and the offsets of some of them.
SYSTEM_CONTROL = 0xE000E000
AIRCR, CFSR, BFAR = 0xD0C, 0xD28, 0xD38
RESET_REQUEST = 0x05FA0004
FETCH_BUS_FAULT, PRECISE_BUS_FAULT, UNDEFINED_INSTRUCTION = 1 << 8, 1 << 15 | 1 << 9, 1 << 16
HARD_FAULT, THREAD_RETURN = 3, 0xFFFFFFF9

#: ``csrr rd, minstret`` without its register, and the causes of RISC-V traps.
READ_MINSTRET, MINSTRET_MASK = 0xB0202073, 0xFFFFF07F
FETCH_FAULT, ILLEGAL_INSTRUCTION, BREAKPOINT, LOAD_FAULT, STORE_FAULT = 1, 2, 3, 5, 7
#: The first two bytes of ``c.ebreak`` and ``ebreak``.
BREAKPOINTS = (0x9002, 0x0073)

CORES = {
    "cortex-m0": arm.UC_CPU_ARM_CORTEX_M0,
    "cortex-m3": arm.UC_CPU_ARM_CORTEX_M3,
    "cortex-m4f": arm.UC_CPU_ARM_CORTEX_M4,
    "cortex-m7": arm.UC_CPU_ARM_CORTEX_M7,
    "cortex-m33": arm.UC_CPU_ARM_CORTEX_M33,
    "rv32imc": riscv.UC_CPU_RISCV32_ANY,
}


class Serial:
    """The serial port: standard input and standard output. ``wait`` is called while the firmware waits for a byte."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.received: deque[int] = deque()
        self.sent = bytearray()
        self.changed = threading.Condition()
        self.closed = self.ready = False
        self.idle = 0
        threading.Thread(target=self.receive, daemon=True).start()

    def receive(self) -> None:
        """Collect the bytes of standard input until it ends."""
        while True:
            try:
                data = os.read(0, 65536)
            except OSError:
                data = b""
            with self.changed:
                self.received.extend(data)
                self.closed = not data
                self.changed.notify()
            if not data:
                return

    def poll(self) -> int:
        """Return 1 if a byte is there, else 0. Without one, wait a little instead of emulating the loop that polls."""
        self.ready = bool(self.received)
        self.idle = 0 if self.ready else self.idle + 1
        if self.idle >= IDLE_POLLS:
            self.flush()
            began = time.monotonic()
            with self.changed:
                if not self.received and not self.closed:
                    self.changed.wait(IDLE_WAIT_S)
            self.machine.idle(time.monotonic() - began)
            self.ready = bool(self.received)
            if self.closed and not self.ready:
                self.machine.stop()
        return int(self.ready)

    def take(self) -> int:
        """Return the next byte, if a poll has announced one."""
        self.idle = 0
        if not self.ready:
            return 0
        self.ready = False
        return self.received.popleft()

    def send(self, byte: int) -> None:
        """Send a byte, at the latest when the firmware waits for one."""
        self.idle = 0
        self.sent.append(byte & 0xFF)
        if len(self.sent) >= OUTPUT_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write all collected bytes to standard output. If nobody reads them any more, stop."""
        data, self.sent = bytes(self.sent), bytearray()
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError:
            self.machine.stop()


class Registers:
    """Registers that only keep their value."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.values: dict[int, int] = {}

    def read(self, offset: int) -> int:
        return self.values.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        self.values[offset] = value


class Port(Registers):
    """A UART: the offsets of its registers, and the bits of its state register. ``receive_bit`` is the number of the
    bit that is set if a byte was received, ``other_bits`` are always set."""

    state, data_in, data_out, receive_bit, other_bits = 0, 0, 0, 0, 0

    def read(self, offset: int) -> int:
        if offset == self.data_in:
            return self.machine.serial.take()
        if offset == self.state:
            return self.machine.serial.poll() << self.receive_bit | self.other_bits
        return super().read(offset)

    def write(self, offset: int, value: int) -> None:
        if offset == self.data_out:
            self.machine.serial.send(value)
        elif offset != self.state:
            super().write(offset, value)


class CmsdkPort(Port):
    state, data_in, data_out, receive_bit = 4, 0, 0, 1


class Stm32Port(Port):
    state, data_in, data_out, receive_bit, other_bits = 0, 4, 4, 5, 0xC0


class Port16550(Port):
    state, data_in, data_out, other_bits = 5, 0, 0, 0x60


class Nrf51Port(Port):
    state, data_in, data_out = 0x108, 0x518, 0x51C

    def read(self, offset: int) -> int:
        return 1 if offset == 0x11C else super().read(offset)  # the event that a byte was sent


class Timer(Registers):
    """A timer: the offset of its counter, and the bits that a counter inverts if it counts down."""

    counter, inverted = 0, 0

    def read(self, offset: int) -> int:
        return (
            (self.machine.ticks() ^ self.inverted) & MASK if offset == self.counter else super().read(offset)
        )


class CmsdkTimer(Timer):
    counter, inverted = 4, MASK


class Stm32Timer(Timer):
    counter = 0x24


class Nrf51Timer(Timer):
    counter = 0x540


class SystemControl(Registers):
    def write(self, offset: int, value: int) -> None:
        if offset == AIRCR:
            if value == RESET_REQUEST:
                self.machine.reset()
        else:
            super().write(offset, value)


_CORTEX_M: dict[int, type[Registers]] = {SYSTEM_CONTROL: SystemControl}
#: The devices of each board family: the address of a page of registers, and its class.
DEVICES: dict[str, dict[int, type[Registers]]] = {
    "mps2": {**_CORTEX_M, 0x40000000: CmsdkTimer, 0x40004000: CmsdkPort}
    | dict.fromkeys((0x40008000, 0x40028000), Registers),
    "an505": {**_CORTEX_M, 0x50000000: CmsdkTimer, 0x50200000: CmsdkPort}
    | dict.fromkeys((0x5002E000, 0x50302000), Registers),
    "nrf51": {**_CORTEX_M, 0x40002000: Nrf51Port, 0x40008000: Nrf51Timer, 0x50000000: Registers},
    "stm32f4": {
        **_CORTEX_M,
        0x40000000: Stm32Timer,
        0x40011000: Stm32Port,
        **dict.fromkeys(range(0x40020000, 0x40024000, PAGE), Registers),
    },
    "riscv_virt": {0x10000000: Port16550},
}


class Machine:
    """A core with its memory and devices, as ``description`` says."""

    def __init__(self, description: dict[str, Any]) -> None:
        self.count = 0  # instructions of all blocks that began
        self.blocks: dict[tuple[int, int], int] = {}
        self.resetting = self.stopped = False
        self.fault = (0, 0)
        self.numerator, self.denominator = map(int, description["ticks"])
        self.ns = int(description["ns"])
        self.origin = int(description["memory"][0][0])
        self.is_arm = description["core"].startswith("cortex")
        if self.is_arm:
            self.core = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        else:
            self.core = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
        self.core.ctl_set_cpu_model(CORES[description["core"]])
        self.serial = Serial(self)
        devices = {address: device(self) for address, device in DEVICES[description["devices"]].items()}
        self.control = devices.get(SYSTEM_CONTROL, Registers(self))
        for address, device in devices.items():
            self.connect(address, device)
        for k, (origin, size) in enumerate(description["memory"]):
            access = unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC if k == 0 else unicorn.UC_PROT_ALL
            self.core.mem_map(origin, -(-size // PAGE) * PAGE, access)
        with open(description["elf"], "rb") as elf:
            for address, offset, size in description["segments"]:
                elf.seek(offset)
                self.core.mem_write(address, elf.read(size))
                if not self.is_arm:
                    self.hook_counter(address, size)
        self.core.hook_add(unicorn.UC_HOOK_BLOCK, self.begin_block)
        self.core.hook_add(unicorn.UC_HOOK_MEM_INVALID, self.invalid_access)

    def connect(self, address: int, device: Registers) -> None:
        """Map a page of registers."""
        self.core.mmio_map(
            address,
            PAGE,
            lambda core, offset, size, data: device.read(offset),
            None,
            lambda core, offset, size, value, data: device.write(offset, value),
            None,
        )

    def begin_block(self, core: Any, address: int, size: int, data: Any) -> None:
        """Count the instructions of a block."""
        try:
            self.count += self.blocks[address, size]
        except KeyError:
            self.blocks[address, size] = self.instructions(address & ~1, size)
            self.count += self.blocks[address, size]

    def instructions(self, address: int, size: int) -> int:
        """Return the number of instructions in ``size`` bytes of code."""
        code = self.core.mem_read(address, size)
        count = position = 0
        while position < size:
            if self.is_arm:
                position += 4 if code[position + 1] >> 3 >= 0b11101 else 2
            else:
                position += 4 if code[position] & 3 == 3 else 2
            count += 1
        return count

    def hook_counter(self, address: int, size: int) -> None:
        """Replace the value that the firmware reads from minstret, which Unicorn does not count: set the register again
        before the instruction that follows."""
        code = bytes(self.core.mem_read(address, size))
        for offset in range(0, size - 3, 2):
            (word,) = struct.unpack_from("<I", code, offset)
            if word & MINSTRET_MASK == READ_MINSTRET:
                register = riscv.UC_RISCV_REG_X0 + (word >> 7 & 31)
                after = address + offset + 4
                self.core.hook_add(unicorn.UC_HOOK_CODE, self.read_counter, register, after, after)

    def read_counter(self, core: Any, address: int, size: int, register: int) -> None:
        """Set the register that received minstret."""
        core.reg_write(register, self.ticks() & MASK)

    def ticks(self) -> int:
        """Return the ticks of the board's timer."""
        return self.count * self.numerator // self.denominator

    def idle(self, seconds: float) -> None:
        """Let time pass while the firmware waits."""
        self.count += int(seconds * 1e9) // self.ns

    def reset(self) -> None:
        """Start the core again, after the current block."""
        self.resetting = True
        self.core.emu_stop()

    def stop(self) -> None:
        """End the emulation."""
        self.stopped = True
        self.core.emu_stop()

    def invalid_access(self, core: Any, access: int, address: int, size: int, value: int, data: Any) -> bool:
        """Remember the address of an access to no memory, which then ends the emulation."""
        writes = (unicorn.UC_MEM_WRITE_UNMAPPED, unicorn.UC_MEM_WRITE_PROT)
        self.fault = (address & MASK, STORE_FAULT if access in writes else LOAD_FAULT)
        return False

    def entry(self) -> int:
        """Set the registers of a core that was reset, and return its first address."""
        self.resetting = False
        if not self.is_arm:
            return self.origin
        stack, first = self.words(self.origin, 2)
        self.core.reg_write(arm.UC_ARM_REG_IPSR, 0)
        self.core.reg_write(arm.UC_ARM_REG_MSP, stack)
        self.core.reg_write(arm.UC_ARM_REG_SP, stack)
        return first | 1

    def trap(self, error: int) -> int:
        """Take the exception of the instruction that failed, and return the address of its handler."""
        address, cause = self.fault
        fetches = error in (unicorn.UC_ERR_FETCH_UNMAPPED, unicorn.UC_ERR_FETCH_PROT)
        accesses = (unicorn.UC_ERR_READ_UNMAPPED, unicorn.UC_ERR_WRITE_UNMAPPED, unicorn.UC_ERR_WRITE_PROT)
        is_access = error in accesses
        if not self.is_arm:
            place = self.core.reg_read(riscv.UC_RISCV_REG_PC)
            if fetches:
                cause = FETCH_FAULT
            elif not is_access:
                code = int.from_bytes(self.core.mem_read(place, 2), "little")
                cause = BREAKPOINT if code in BREAKPOINTS else ILLEGAL_INSTRUCTION
            self.core.reg_write(riscv.UC_RISCV_REG_MCAUSE, cause)
            self.core.reg_write(riscv.UC_RISCV_REG_MTVAL, address if is_access or fetches else 0)
            self.core.reg_write(riscv.UC_RISCV_REG_MEPC, place)
            return int(self.core.reg_read(riscv.UC_RISCV_REG_MTVEC)) & ~3
        names = ("R0", "R1", "R2", "R3", "R12", "LR", "PC", "XPSR")
        registers = [self.core.reg_read(getattr(arm, f"UC_ARM_REG_{name}")) & MASK for name in names]
        frame = (self.core.reg_read(arm.UC_ARM_REG_SP) - 32) & ~7
        with contextlib.suppress(unicorn.UcError):  # the stack pointer may be outside the memory
            self.core.mem_write(frame, struct.pack("<8I", *registers))
        self.core.reg_write(arm.UC_ARM_REG_SP, frame)
        self.core.reg_write(arm.UC_ARM_REG_LR, THREAD_RETURN)
        self.core.reg_write(arm.UC_ARM_REG_IPSR, HARD_FAULT)
        other = FETCH_BUS_FAULT if fetches else UNDEFINED_INSTRUCTION
        self.control.write(CFSR, PRECISE_BUS_FAULT if is_access else other)
        self.control.write(BFAR, address)
        return self.words(self.origin + 4 * HARD_FAULT, 1)[0] | 1

    def words(self, address: int, count: int) -> tuple[int, ...]:
        """Return words of the memory."""
        return struct.unpack(f"<{count}I", self.core.mem_read(address, 4 * count))

    def run(self) -> None:
        """Run until standard input ends."""
        address = self.entry()
        while not self.stopped:
            try:
                self.core.emu_start(address, NO_ADDRESS)
            except unicorn.UcError as error:
                address = self.trap(error.errno)
                continue
            if not self.resetting:
                break
            address = self.entry()
        self.serial.flush()


if __name__ == "__main__":
    Machine(json.loads(sys.argv[1])).run()
