"""The driver of the flash memory, and the watchdog, for each family of boards whose images can be replaced."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.errors import UsageError
from arenite.profiles.board import Board


@dataclass(frozen=True)
class MemoryFamily:
    """C files of ``firmware/state_store`` and ``firmware/update``, and how ``slots.c`` calls the driver.

    Attributes:
        sources: The C files of the driver, and of the watchdog if the family has one.
        header: The header of the driver.
        call: Fills ``flash`` with ``pages`` pages from ``address``.
        has_watchdog: The sources have ``port_watchdog_start``.
    """

    sources: tuple[str, ...]
    header: str
    call: str
    has_watchdog: bool = False


def _plain(driver: str, header: str) -> MemoryFamily:
    return MemoryFamily((f"flash_{driver}.c",), header, f"ar_flash_{driver}(flash, address, pages)")


def _nrf(page: str) -> MemoryFamily:
    sources = ("flash_nrf.c", "watchdog_nrf.c")
    return MemoryFamily(sources, "flash_nrf.h", f"ar_flash_nrf(flash, address, {page}, pages)", True)


_FAMILIES = {
    # The watchdog is in the port of the board.
    "mps2": MemoryFamily(("flash_ram.c",), "flash_ram.h", "ar_flash_ram(flash, address, pages)", True),
    "nrf51": _nrf("AR_NRF51_PAGE"),
    "nrf52": _nrf("AR_NRF52_PAGE"),
    "stm32l4": _plain("stm32l4", "flash_stm32.h"),
    "stm32g0": _plain("stm32g0", "flash_stm32.h"),
    "stm32h7": _plain("stm32h7", "flash_stm32.h"),
    "stm32f4": MemoryFamily(
        ("flash_stm32f4.c",), "flash_stm32.h", "ar_flash_stm32f4(flash, address, AR_STM32F4_SECTOR, pages)"
    ),
    "rp2040": _plain("rp2040", "flash_rp2040.h"),
    "samd21": _plain("samd21", "flash_samd.h"),
    "samd51": _plain("samd51", "flash_samd.h"),
}


def memory_family(board: Board) -> MemoryFamily:
    """Return the family of the memories of ``board``. Raises ``UsageError`` if there is no driver for it."""
    name = memory_family_name(board)
    if name not in _FAMILIES:
        raise UsageError(
            f"There is no boot loader for {board.name}.",
            "docs/update-install.md lists the boards that have one.",
        )
    return _FAMILIES[name]


def memory_family_name(board: Board) -> str:
    """Return the name of the family: that of the table [update], or that of the emulator. "" if there is none."""
    if board.update is not None and board.update.family is not None:
        return board.update.family
    return board.emulator.family if board.emulator is not None else ""
