"""Return the timing class of Xtensa instructions (call0 code for LX cores) as GNU objdump writes them."""

from __future__ import annotations

import re
from functools import cache

from arenite.host.emulator.disassembly import Instruction
from arenite.host.emulator.instruction_class import TimingClass

_NAMED = {
    "load": "l8ui l16ui l16si l32i",
    "load_literal": "l32r",
    "store": "s8i s16i s32i",
    "multiply_16": "mul16s mul16u",
    "multiply": "mull",
    "multiply_high": "mulsh muluh",
    "divide": "quos quou rems remu",
    "branch": "beq bne blt bge bltu bgeu beqz bnez bltz bgez beqi bnei blti bgei bltui bgeui bany bnone ball bnall bbc"
    " bbs bbci bbsi",
    "jump": "j jx",
    "call": "call0 callx0 ret simcall",
    "barrier": "isync rsync esync dsync memw extw",
    "system": "rsr wsr xsr rsil rfe rfi waiti",
    "nop": "nop",
}
_CLASS_OF = {name: kind for kind, names in _NAMED.items() for name in names.split()}
_REGISTER = re.compile(r"\ba\d+\b")


@cache
def xtensa_class(instruction: Instruction) -> TimingClass:
    """Return the timing class of one instruction."""
    name = _CLASS_OF.get(instruction.mnemonic.split(".")[0], "alu")
    first, _, rest = instruction.operands.partition(",")
    all_registers = frozenset(_REGISTER.findall(instruction.operands))
    if name in ("branch", "jump", "call", "barrier"):
        return TimingClass(name, reads=all_registers)
    if name == "store":
        return TimingClass(name, 1, all_registers, address=frozenset(_REGISTER.findall(rest)))
    reads = frozenset(_REGISTER.findall(rest))
    writes = frozenset(_REGISTER.findall(first))
    return TimingClass(name, 1, reads, writes, reads if name == "load" else frozenset())
