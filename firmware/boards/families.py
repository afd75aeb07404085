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
    """``sources``: beyond the start-up file of the core.  ``defines``: macros for them."""

    sources: tuple[str, ...]
    defines: tuple[str, ...] = ()


_FAMILIES = {
    "mps2": Family(("port_mps2.c",)),
    "an505": Family(("port_mps2.c",), ("PORT_AN505",)),
    "an547": Family(("port_mps2.c",), ("PORT_AN547",)),
    "nrf51": Family(("port_nrf51.c",)),
    "stm32f4": Family(("port_stm32f4.c",), ("TIM2_PRESCALER=15",)),
    "riscv_virt": Family(("port_riscv_virt.c",)),
    "xtensa_sim": Family(("port_xtensa_sim.c",)),
}


def agent_sources(protocol: str) -> tuple[str, ...]:
    """Sources that serve a model over a serial protocol, the same on every board."""
    return (_AGENT[protocol], "runtime.c")


def family_named(name: str) -> Family:
    """The family called ``name``.  Raises ProfileError when there is none."""
    if name not in _FAMILIES:
        raise ProfileError(f"There is no board family '{name}'.", f"Known: {', '.join(sorted(_FAMILIES))}.")
    return _FAMILIES[name]
