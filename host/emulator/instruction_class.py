"""Timing classes: what an instruction costs depends on its class, on how many items it moves, and on its neighbours.

Each architecture has a function that tells the class of one instruction; ``profiles/timing/`` has what each class costs
on each core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arenite.host.emulator.disassembly import Instruction


@dataclass(frozen=True)
class TimingClass:
    """``items``: registers or vector elements that it moves one by one, else 1.

    ``reads``, ``writes``: registers. ``address``: those of ``reads`` that make up a memory address.
    """

    name: str
    items: int = 1
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    address: frozenset[str] = frozenset()


Classifier = Callable[[Instruction], TimingClass]


def classifier(core: str) -> Classifier:
    """The function for the instruction set of ``core``."""
    # Imported here: each of these modules needs Kind.
    from arenite.host.emulator.classes_arm import arm_kind
    from arenite.host.emulator.classes_riscv import riscv_kind
    from arenite.host.emulator.classes_xtensa import xtensa_kind

    if core.startswith("cortex"):
        return arm_kind
    return riscv_kind if core.startswith("rv32") else xtensa_kind
