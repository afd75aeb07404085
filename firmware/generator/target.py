"""The target of a generated model: the core's instruction set and the user's goal."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.firmware.boards.cores import OPTIMISE_MODES, nearest_core

SCALAR, DSP, MVE = "scalar", "dsp", "mve"
TIERS = (SCALAR, DSP, MVE)


@dataclass(frozen=True)
class Target:
    """Selects the kernels and the memory and instructions that they may use.

    ``core``: a name of ``firmware/boards/cores.py``. ``tier``: ``scalar`` (plain C), ``dsp`` (Armv7E-M and v8-M with
    the DSP extension) or ``mve`` (Helium). ``optimise``: ``speed`` may expand weights, ``balanced`` never stores more
    than weights and biases need, ``ram`` and ``flash`` spend instructions on that memory. ``stream_input``: the model's
    input arrives in rows, and is never complete in memory. ``cores``: 2 cuts layers into halves for two cores, where
    that saves more than the ``barrier`` instructions that fork and join cost.
    """

    core: str
    tier: str
    optimise: str
    stream_input: bool = False
    cores: int = 1
    barrier: int = 0

    @staticmethod
    def of(
        core: str, optimise: str = "balanced", stream_input: bool = False, cores: int = 1, barrier: int = 0
    ) -> Target:
        """The target of a core that a board profile names; raises ProfileError for an unknown core."""
        if optimise not in OPTIMISE_MODES:
            raise ValueError(f"unknown optimisation {optimise!r}")
        return Target(core, nearest_core(core).tier, optimise, stream_input, cores, barrier)


#: Any 32-bit core: what runs everywhere.
PORTABLE = Target("", SCALAR, "balanced")
