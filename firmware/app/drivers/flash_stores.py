"""List the drivers of flash memories of real boards, in which an application keeps what it has learned."""

from __future__ import annotations

from dataclasses import dataclass, replace

from arenite.firmware.app.drivers.driver import ESPIDF, PICO, Driver, framework_of
from arenite.firmware.app.learning_glue import NO_FLASH, NRF_FLASH, PAGE_BYTES, Learning
from arenite.profiles.board import Board

#: Boards with an nRF52 whose Arduino core leaves the end of the profile's flash region to the program.
_NRF_BOARDS = ("adafruit_feather_nrf52840", "nano33ble")


@dataclass(frozen=True)
class FlashStore:
    """The driver of a flash memory.

    Attributes:
        source: its C file.
        needs: what it needs of its framework, as in :class:`Driver`.
        end: the address after the last page, if the driver does not find it; otherwise None.
        has_partition: whether the memory is a partition of its own.
    """

    source: str
    needs: tuple[str, ...] = ()
    end: int | None = None
    has_partition: bool = False

    def add_to(self, driver: Driver, learning: Learning) -> tuple[Driver, Learning]:
        """Return the driver of the sensor with this one, and what is learned with the address of its memory."""
        size = learning.flash_pages * PAGE_BYTES
        driver = replace(
            driver,
            sources=(*driver.sources, self.source),
            needs=(*driver.needs, *self.needs),
            state_bytes=size if self.has_partition else 0,
        )
        return driver, replace(learning, flash_address=None if self.end is None else self.end - size)


def flash_store_of(board: Board) -> FlashStore:
    """Return the driver of the flash memory of a real board, or the file that says that there is none."""
    framework = framework_of(board)
    if framework == PICO:
        return FlashStore("flash_region_pico.c", ("hardware_flash", "hardware_sync"))
    if framework == ESPIDF:
        return FlashStore("flash_region_esp.c", ("esp_partition",), has_partition=True)
    if board.name in _NRF_BOARDS:
        region = board.flash[0]
        return FlashStore(NRF_FLASH, end=region.origin + region.size)
    return FlashStore(NO_FLASH)
