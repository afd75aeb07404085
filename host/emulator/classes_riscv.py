"""Return the timing class of RV32IMAC instructions as GNU objdump writes them."""

from __future__ import annotations

import re
from functools import cache

from arenite.host.emulator.disassembly import Instruction
from arenite.host.emulator.instruction_class import TimingClass

_NAMED = {
    "load": "lb lbu lh lhu lw",
    "store": "sb sh sw",
    "multiply": "mul",
    "multiply_high": "mulh mulhu mulhsu",
    "divide": "div divu rem remu",
    "branch": "beq bne blt bge bltu bgeu beqz bnez blez bgez bltz bgtz bgt ble bgtu bleu",
    "jump": "j jr ret",
    "call": "jal jalr call tail",
    "system": "csrr csrw csrs csrc csrwi csrsi csrci csrrw csrrs csrrc csrrwi csrrsi csrrci fence fence.i ecall ebreak"
    " mret wfi rdcycle rdcycleh rdinstret rdinstreth rdtime rdtimeh",
    "nop": "nop",
}
_CLASS_OF = {name: kind for kind, names in _NAMED.items() for name in names.split()}
#: Control registers of counters and traps: on some cores an access to them empties the pipeline.
_COUNTER = re.compile(r"\b(m?cycleh?|m?instreth?|timeh?|mhpm\w+|mcountinhibit|mstatus|mtvec|mepc|mcause)\b")
_REGISTER = re.compile(r"\b(zero|ra|sp|gp|tp|[ast]\d+)\b")


@cache
def riscv_class(instruction: Instruction) -> TimingClass:
    """Return the timing class of one instruction."""
    name = _CLASS_OF.get(instruction.mnemonic.removeprefix("c."), "alu")
    if name == "system" and (
        _COUNTER.search(instruction.operands)
        or instruction.mnemonic.startswith(("rdcycle", "rdinstret", "rdtime"))
    ):
        name = "counter"
    first, _, rest = instruction.operands.partition(",")
    all_registers = frozenset(_REGISTER.findall(instruction.operands))
    if name == "branch":
        return TimingClass(name, reads=all_registers)
    if name in ("jump", "call"):
        return _jump(name, instruction)
    if name == "store":
        return TimingClass(name, 1, all_registers, address=frozenset(_REGISTER.findall(rest)))
    reads = frozenset(_REGISTER.findall(rest))
    writes = frozenset(_REGISTER.findall(first))
    return TimingClass(name, 1, reads, writes, reads if name == "load" else frozenset())


def _jump(name: str, instruction: Instruction) -> TimingClass:
    """Return the class of a jump. objdump leaves out the register ra where it is implied."""
    registers = _REGISTER.findall(instruction.operands)
    if instruction.mnemonic in ("j", "jal", "call", "tail"):
        return TimingClass(name, writes=frozenset({"ra"}) if name == "call" else frozenset())
    target = frozenset({"ra"}) if instruction.mnemonic == "ret" else frozenset(registers[-1:])
    return TimingClass(
        name, reads=target, writes=frozenset({"ra"}) if name == "call" else frozenset(), target=target
    )
