"""Support sources per family of emulated machines: which files of this folder make its start-up and port."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arenite.converters.errors import ProfileError

SOURCE_DIRECTORY = Path(__file__).parent
AGENT_HEADERS = ("agent.h", "port.h")
BOARD_HEADERS = ("start_memory.h",)
_AGENT = {"arenite": "agent.c", "mlperf": "mlperf.c"}


@dataclass(frozen=True)
class Family:
    """``sources``: beyond the start-up file of the core.  ``ticks_per_us``: rate of the counter in virtual time.
    ``macros``: more definitions for the sources."""

    sources: tuple[str, ...]
    ticks_per_us: int
    macros: tuple[str, ...] = ()

    @property
    def defines(self) -> tuple[str, ...]:
        """All macros that the support code of the family is compiled with."""
        return (f"PORT_TICKS_PER_US={self.ticks_per_us}u", *self.macros)


_FAMILIES = {
    "mps2": Family(("port_mps2.c",), 25),
    "an505": Family(("port_mps2.c",), 20, ("PORT_AN505",)),
    "an547": Family(("port_mps2.c",), 32, ("PORT_AN547",)),
    "nrf51": Family(("port_nrf51.c",), 16),
    "stm32f4": Family(("port_stm32f4.c",), 50, ("TIM2_PRESCALER=19",)),  # QEMU's TIM2 counts at 1 GHz / 20
    "riscv_virt": Family(("port_riscv_virt.c",), 1000),
    "xtensa_sim": Family(("port_xtensa_sim.c",), 40),
}


def agent_sources(protocol: str, stream_input: bool = False) -> tuple[str, ...]:
    """Sources that serve a model over a serial protocol, the same on every board; ``stream_input``: a model that takes
    its input row by row."""
    return (_AGENT[protocol], "runtime.c", *(("agent_stream.c",) if stream_input else ()))


def family_named(name: str) -> Family:
    """The family called ``name``.  Raises ProfileError when there is none."""
    if name not in _FAMILIES:
        raise ProfileError(f"There is no board family '{name}'.", f"Known: {', '.join(sorted(_FAMILIES))}.")
    return _FAMILIES[name]
