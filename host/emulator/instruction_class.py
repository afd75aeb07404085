"""Timing classes: the cost of an instruction depends on its class, the number of items that it moves, and its
neighbors.

Each instruction set has a classifier (``classifiers.py`` chooses it). ``profiles/timing/`` holds the cost of each class
on each core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arenite.host.emulator.disassembly import Instruction


@dataclass(frozen=True)
class TimingClass:
    """The timing class of one instruction.

    Attributes:
        name: a class of the tables in ``profiles/timing/``.
        items: number of registers or vector elements that the instruction moves one by one, otherwise 1.
        reads, writes: names of the registers that the instruction reads and writes.
        address: the registers among ``reads`` that form a memory address.
        target: the registers among ``reads`` that form the target of a jump.
    """

    name: str
    items: int = 1
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    address: frozenset[str] = frozenset()
    target: frozenset[str] = frozenset()


Classifier = Callable[[Instruction], TimingClass]
