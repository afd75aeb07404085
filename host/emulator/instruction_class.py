"""Timing classes: what an instruction costs depends on its class, on how many items it moves, and on its neighbours.

Each instruction set has a classifier (``classifiers.py`` chooses it); ``profiles/timing/`` holds the cost of each class
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
