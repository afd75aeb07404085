"""List the drivers of analog-to-digital converters."""

from __future__ import annotations

from arenite.firmware.app.drivers.driver import PICO, Driver, framework_of
from arenite.profiles.board import Board

_NEEDS = ("hardware_adc", "hardware_dma", "hardware_irq", "hardware_clocks")


def converter_of(board: Board) -> Driver | None:
    """Return the driver of the analog-to-digital converter of ``board``, or None if there is none."""
    if framework_of(board) != PICO:
        return None
    wiring = "the analog inputs from GP26 on, in their order"
    return Driver(PICO, ("adc_rp2.c", "rp2_blocks.h"), wiring, {"ADC_FIRST": "0u"}, needs=_NEEDS)
