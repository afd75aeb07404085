"""Choose the classifier of a core. A classifier is a function that returns the timing class of an instruction."""

from __future__ import annotations

from arenite.host.emulator.classes_arm import arm_class
from arenite.host.emulator.classes_riscv import riscv_class
from arenite.host.emulator.classes_xtensa import xtensa_class
from arenite.host.emulator.instruction_class import Classifier


def classifier(core: str) -> Classifier:
    """Return the classifier for the instruction set of ``core``, a name from a board profile such as ``cortex-m4``."""
    if core.startswith("cortex"):
        return arm_class
    return riscv_class if core.startswith("rv32") else xtensa_class
