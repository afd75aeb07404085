"""The boards whose firmware MCUboot and mcumgr of Zephyr update."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ZephyrPartitions:
    """What Zephyr's devicetree says about a board.

    Attributes:
        uart: The label of the console's UART.
        has_large_sectors: Whether a slot has only one to three sectors, of 128 KB or more. A swap without scratch needs
            free sectors beside the image; these boards have a scratch partition.
    """

    uart: str
    has_large_sectors: bool = False


#: From the files that the profiles name at ``zephyr`` in their table [sources]. A board whose slots overlap another
#: partition, or differ by more than one sector, is not here: MCUboot cannot swap them.
ZEPHYR_PARTITIONS = {
    "adafruit_feather_nrf52840": ZephyrPartitions("uart0"),
    "bbcmicrobit_v2": ZephyrPartitions("uart0"),
    "blackpill_f411ce": ZephyrPartitions("usart1", has_large_sectors=True),
    "disco_b_u585i_iot02a": ZephyrPartitions("usart1"),
    "frdm_k64f": ZephyrPartitions("uart0"),
    "nrf51_dk": ZephyrPartitions("uart0"),
    "nrf52840_dk": ZephyrPartitions("uart0"),
    "nrf52_dk": ZephyrPartitions("uart0"),
    "nrf5340dk": ZephyrPartitions("uart0"),
    "nrf54l15dk": ZephyrPartitions("uart20"),
    "nucleo_f091rc": ZephyrPartitions("usart2"),
    "nucleo_f401re": ZephyrPartitions("usart2", has_large_sectors=True),
    "nucleo_f429zi": ZephyrPartitions("usart3", has_large_sectors=True),
    "nucleo_f446re": ZephyrPartitions("usart2", has_large_sectors=True),
    "nucleo_f767zi": ZephyrPartitions("usart3", has_large_sectors=True),
    "nucleo_g0b1re": ZephyrPartitions("usart2"),
    "nucleo_g474re": ZephyrPartitions("lpuart1"),
    "nucleo_h563zi": ZephyrPartitions("usart3"),
    "nucleo_h743zi": ZephyrPartitions("usart3", has_large_sectors=True),
    "nucleo_l152re": ZephyrPartitions("usart2"),
    "nucleo_wb55rg_p": ZephyrPartitions("usart1"),
    "nucleo_wl55jc": ZephyrPartitions("lpuart1"),
    "xg24_dk2601b": ZephyrPartitions("usart0"),
}
#: The boards whose images Zephyr's MCUboot replaces.
ZEPHYR_UPDATE_BOARDS = tuple(sorted(ZEPHYR_PARTITIONS))
