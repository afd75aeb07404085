"""Timing classes: the cost of an instruction depends on its class, the number of items that it moves, and its
neighbors.

Each instruction set has a classifier (``classifiers.py`` chooses it). ``profiles/timing/`` holds the cost of each class
on each core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arenite.host.emulator.disassembly import Instruction

#: Parts of the pipeline that only some instructions use: multiplications; multiplications of halfwords, and their sums;
#: additions of an extended value, such as ``uxtab``; operands that are shifted; loads of bytes and halfwords.
UNITS = ("multiply", "multiply_16", "extend_add", "shift", "narrow_load")


@dataclass(frozen=True)
class TimingClass:
    """The timing class of one instruction.

    Attributes:
        name: a class of the tables in ``profiles/timing/``.
        items: number of registers or vector elements that the instruction moves one by one, otherwise 1.
        reads, writes: names of the registers that the instruction reads and writes.
        address: the registers among ``reads`` that form a memory address.
        target: the registers among ``reads`` that form the target of a jump.
        accumulates: the registers among ``reads`` that are only added to a product or to an extended value.
        unit: one of ``UNITS``, or "".
        flags: whether the instruction sets the condition flags.
    """

    name: str
    items: int = 1
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    address: frozenset[str] = frozenset()
    target: frozenset[str] = frozenset()
    accumulates: frozenset[str] = frozenset()
    unit: str = ""
    flags: bool = False


Classifier = Callable[[Instruction], TimingClass]
