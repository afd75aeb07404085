"""List the drivers of flash memories of real boards, in which an application keeps what it has learned."""

from __future__ import annotations

from dataclasses import dataclass, replace

from arenite.firmware.app.drivers.driver import ESPIDF, PICO, Driver, framework_of
from arenite.firmware.app.learning_glue import NO_FLASH, NRF_FLASH, PAGE_BYTES, UNIT_BYTES, Learning
from arenite.profiles.board import Board

#: Boards with an nRF52 whose Arduino core leaves the end of the profile's flash region to the program.
_NRF_BOARDS = ("adafruit_feather_nrf52840", "nano33ble")
#: For each family of STM32, bytes of a page, bytes of a unit, and blocks. Sectors of 128 KB leave room for two.
_STM32_FAMILIES = {"l4": (2048, 8, 3), "f4": (131072, 4, 2), "h7": (131072, 32, 2)}
#: Boards whose Arduino core has the symbols of the linker script by which the drivers know where the program ends.
_STM32_BOARDS = {
    **dict.fromkeys(("disco_l475vg_iot01a", "nucleo_l432kc", "nucleo_l476rg", "nucleo_l496zg"), "l4"),
    **dict.fromkeys(
        ("blackpill_f411ce", "disco_f407vg", "nucleo_f401re", "nucleo_f411re", "nucleo_f446re"), "f4"
    ),
    "nucleo_h743zi": "h7",
}


@dataclass(frozen=True)
class FlashStore:
    """The driver of a flash memory.

    Attributes:
        sources: its files.
        needs: what it needs of its framework, as in :class:`Driver`.
        end: the address after the last page, if the driver does not find it; otherwise None.
        has_partition: whether the memory is a partition of its own.
        page_bytes, unit_bytes, blocks: as in :class:`Learning`; no blocks for the usual ones.
    """

    sources: tuple[str, ...]
    needs: tuple[str, ...] = ()
    end: int | None = None
    has_partition: bool = False
    page_bytes: int = PAGE_BYTES
    unit_bytes: int = UNIT_BYTES
    blocks: int = 0

    def add_to(self, driver: Driver, learning: Learning) -> tuple[Driver, Learning]:
        """Return the driver of the sensor with this one, and what is learned with the address of its memory."""
        learning = replace(
            learning,
            page_bytes=self.page_bytes,
            unit_bytes=self.unit_bytes,
            blocks=self.blocks or learning.blocks,
        )
        size = learning.flash_pages * learning.page_bytes
        driver = replace(
            driver,
            sources=(*driver.sources, *self.sources),
            needs=(*driver.needs, *self.needs),
            state_bytes=size if self.has_partition else 0,
        )
        return driver, replace(learning, flash_address=None if self.end is None else self.end - size)


def flash_store_of(board: Board) -> FlashStore:
    """Return the driver of the flash memory of a real board, or the file that says that there is none."""
    framework = framework_of(board)
    if framework == PICO:
        return FlashStore(("flash_region_pico.c", "flash_region.h"), ("hardware_flash", "hardware_sync"))
    if framework == ESPIDF:
        return FlashStore(("flash_region_esp.c", "flash_region.h"), ("esp_partition",), has_partition=True)
    if board.name in _NRF_BOARDS:
        region = board.flash[0]
        return FlashStore((NRF_FLASH,), end=region.origin + region.size)
    family = _STM32_BOARDS.get(board.name)
    if family is not None:
        region = board.flash[0]
        page_bytes, unit_bytes, blocks = _STM32_FAMILIES[family]
        return FlashStore(
            (f"flash_region_stm32{family}.c", "flash_region_stm32.h", "flash_region.h"),
            end=region.origin + region.size,
            page_bytes=page_bytes,
            unit_bytes=unit_bytes,
            blocks=blocks,
        )
    return FlashStore((NO_FLASH,))
