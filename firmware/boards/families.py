"""Families of emulated boards, each with the C sources of its start-up and port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arenite.errors import ProfileError

#: The headers of the agent, the part of the firmware that runs the model over a serial protocol. The generator writes
#: one more, firmware_features.h.
AGENT_HEADERS = ("agent.h", "health.h", "memory_watch.h", "port.h", "this_firmware.h")
#: The headers that start-up code and ports include besides those of the agent.
BOARD_HEADERS = ("start_memory.h", "second_core.h")
#: The C files of the agent for each protocol.
_AGENT = {
    "arenite": ("agent.c",),
    "mlperf": ("mlperf.c", "mlperf_reals.c"),
    "mlperf-energy": ("mlperf.c", "mlperf_reals.c"),
}


@dataclass(frozen=True)
class Family:
    """A family of emulated boards.

    ``sources`` does not include the start-up file of the core. ``ticks_per_us`` is the rate of the time counter, in
    ticks per microsecond of the emulator's virtual time. ``macros`` are further definitions for the sources.
    ``mark_pins`` are the pins that can be high while an inference computes; the first one is the default.
    ``watchdog_ms`` is the watchdog's timeout, 0 without a watchdog.
    """

    sources: tuple[str, ...]
    ticks_per_us: int
    macros: tuple[str, ...] = ()
    mark_pins: Sequence[int] = ()
    watchdog_ms: int = 0

    @property
    def defines(self) -> tuple[str, ...]:
        """Macros with which the support code of the family is compiled."""
        return (f"PORT_TICKS_PER_US={self.ticks_per_us}u", *self.macros)


_LEDS = range(2)  # the user LEDs of the FPGA images, the only outputs that can be observed
#: The watchdog's timeout. It is longer than any layer takes: 8 s are 125 million instructions in the emulator.
_WATCHDOG_MS = 8000

_FAMILIES = {
    "mps2": Family(("port_mps2.c",), 25, mark_pins=_LEDS, watchdog_ms=_WATCHDOG_MS),
    "an505": Family(("port_mps2.c",), 20, ("PORT_AN505",), _LEDS, _WATCHDOG_MS),
    "an547": Family(("port_mps2.c",), 32, ("PORT_AN547",), _LEDS, _WATCHDOG_MS),
    # Pin 3 is ring 0 of the micro:bit's edge connector; pins 24 and 25 are its serial port.
    "nrf51": Family(("port_nrf51.c",), 16, mark_pins=(3, *range(3), *range(4, 24), *range(26, 32))),
    "stm32f4": Family(
        ("port_stm32f4.c",),
        50,
        ("TIM2_PRESCALER=19",),  # QEMU's TIM2 counts at 1 GHz / 20
        (5, *range(5), *range(6, 144)),  # pin 5 is PA5 (the clock of SPI1), which every package has
    ),
    "riscv_virt": Family(("port_riscv_virt.c",), 1000),
    "riscv_virt_smp": Family(("port_riscv_virt.c",), 1000, ("PORT_HARTS=2",)),
    "xtensa_sim": Family(("port_xtensa_sim.c",), 40),
}


def agent_sources(protocol: str, stream_input: bool = False, health: bool = False) -> tuple[str, ...]:
    """Return the C files that run a model over a serial protocol; they are the same on every board.

    ``stream_input`` is for a model that takes its input row by row, ``health`` for a device that reports its health.
    """
    optional = (("agent_stream.c",) if stream_input else ()) + (("health.c",) if health else ())
    return (*_AGENT[protocol], "runtime.c", "memory_watch.c", *optional)


def second_core_sources(port: str) -> tuple[str, ...]:
    """Return the files that let a second core run halves of layers. ``port`` is ``SecondCore.port`` of the board."""
    return (f"parallel_{port}.c", "mailbox.h", "second_core.h")


def family_named(name: str) -> Family:
    """Return the family called ``name``. Raises ``ProfileError`` when there is none."""
    if name not in _FAMILIES:
        raise ProfileError(
            f"There is no board family '{name}'.", f"Choose one of {', '.join(sorted(_FAMILIES))}."
        )
    return _FAMILIES[name]
