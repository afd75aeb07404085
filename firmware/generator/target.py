"""The target of a generated model: the core's instruction set and the user's goal."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.firmware.boards.cores import OPTIMISE_MODES, tier_of

SCALAR, DSP, MVE, SIMD128 = "scalar", "dsp", "mve", "simd128"
TIERS = (SCALAR, DSP, MVE, SIMD128)


@dataclass(frozen=True)
class Target:
    """The choice of kernels, and of the memory and instructions that they may use.

    ``core``: a name of ``firmware/boards/cores.py``. ``tier``: ``scalar`` (plain C), ``dsp`` (Armv7E-M and v8-M
    with the DSP extension), ``mve`` (Helium) or ``simd128`` (WebAssembly). ``optimise``: ``speed`` may expand
    weights, ``balanced`` never stores more than weights and biases need, ``ram`` and ``flash`` use more
    instructions to save that memory. ``stream_input``: True if the model's input arrives in rows and is never
    complete in memory. ``cores``: with 2, layers are split into halves for two cores if that saves more than the
    ``barrier`` instructions of fork and join.
    """

    core: str
    tier: str
    optimise: str
    stream_input: bool = False
    cores: int = 1
    barrier: int = 0

    @staticmethod
    def for_core(
        core: str, optimise: str = "balanced", stream_input: bool = False, cores: int = 1, barrier: int = 0
    ) -> Target:
        """Return the target of a core that a board profile names. Raises ProfileError for an unknown core."""
        if optimise not in OPTIMISE_MODES:
            raise ValueError(f"unknown optimization {optimise!r}")
        return Target(core, tier_of(core), optimise, stream_input, cores, barrier)


#: The target for kernels that run on any 32-bit core.
PORTABLE = Target("", SCALAR, "balanced")
