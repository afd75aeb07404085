"""Tests of the board profiles: each one is complete, plausible and has sources."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from arenite.firmware.platformio.zephyr import is_for_zephyr
from arenite.profiles.boards import BOARD_DIRECTORY, Board, all_boards, load_board

REAL = [board for board in all_boards() if not board.emulated]
KIB = 1024

# For each core: features that every board with this core must have, and below, features that it cannot have. A core of
# firmware/boards/cores.py can be narrower than Arm's: cortex-m4 has no FPU, and cortex-m33 has an FPU and the DSP
# extension. The rest comes from the cores' reference manuals.
MUST_HAVE = {
    "cortex-m4": {"dsp"},
    "cortex-m4f": {"fpu", "dsp"},
    "cortex-m33": {"fpu", "dsp"},
    "cortex-m7": {"dsp"},
    "cortex-m55": {"mve"},
    "cortex-m85": {"mve"},
    "rv32imafc": {"fpu"},
    "xtensa-lx6": {"fpu"},
}
CANNOT_HAVE = {
    "cortex-m0": {"fpu", "dsp", "mve"},
    "cortex-m0plus": {"fpu", "dsp", "mve"},
    "cortex-m23": {"fpu", "dsp", "mve"},
    "cortex-m3": {"fpu", "dsp", "mve"},
    "cortex-m4": {"fpu", "mve"},
    "cortex-m4f": {"mve"},
    "cortex-m33": {"mve"},
    "cortex-m7": {"mve"},
    "rv32imc": {"fpu", "dsp", "mve"},
    "rv32imac": {"fpu", "dsp", "mve"},
    "xtensa-lx106": {"fpu", "dsp", "mve"},
}


def _ids(boards: list[Board]) -> list[str]:
    return [board.name for board in boards]


def test_there_are_at_least_forty_real_boards_of_the_required_families() -> None:
    assert len(REAL) >= 40
    mcus = " ".join(board.mcu for board in REAL)
    for family in (
        *("STM32F0", "STM32F1", "STM32F3", "STM32F4", "STM32F7", "STM32G0", "STM32G4", "STM32L0", "STM32L4"),
        *("STM32L4R5", "STM32L5", "STM32U0", "STM32U3", "STM32U5", "STM32H5", "STM32H7", "STM32H7A3"),
        *("STM32N6", "STM32WB", "nRF51", "nRF52832", "nRF52833", "nRF52840", "nRF5340", "nRF54L15"),
        *("RP2040", "RP2350", "SAMD21", "SAMD51", "MIMXRT1062", "R7FA4M1", "R7FA6M5", "R7FA8D1"),
        *("ESP32-S2", "ESP32-S3", "ESP32-C3", "ESP32-C6", "ESP32-P4", "ESP8266", "MAX78000", "AMA3B"),
        *("GD32VF103", "CH32V307", "EFR32MG24", "FE310"),
    ):
        assert family in mcus, family


@pytest.mark.parametrize("name", ["nucleo_l4r5zi", "esp32dev", "bluepill_f103c8", "nano33ble", "teensy41"])
def test_boards_have_the_names_that_platformio_uses(name: str) -> None:
    board = load_board(name)
    assert board.platformio is not None
    assert board.platformio.board == name


def test_known_figures_of_well_known_boards() -> None:
    """These figures were copied from the data sheets a second time, to detect typing errors in the profiles."""
    expected = {
        "nucleo_l4r5zi": (2048 * KIB, 640 * KIB, 120e6),
        "bluepill_f103c8": (64 * KIB, 20 * KIB, 72e6),
        "disco_f746ng": (1024 * KIB, 320 * KIB, 216e6),
        "nucleo_u575zi_q": (2048 * KIB, 768 * KIB, 160e6),
        "nucleo_h7a3zi_q": (2048 * KIB, 1024 * KIB, 280e6),
        "nrf52840_dk": (1024 * KIB, 256 * KIB, 64e6),
        "pico": (2048 * KIB, 264 * KIB, 133e6),
        "bbcmicrobit": (256 * KIB, 16 * KIB, 16e6),
        "uno_r4_minima": (240 * KIB, 32 * KIB, 48e6),
    }
    for name, (flash, ram, clock) in expected.items():
        board = load_board(name)
        assert (board.flash_bytes, board.ram_bytes, board.clock_hz) == (flash, ram, clock), name


@pytest.mark.parametrize("board", REAL, ids=_ids(REAL))
def test_profile_is_complete_and_plausible(board: Board) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]+", board.name)
    assert board.title and board.mcu
    for figure in ("flash", "ram", "clock"):
        assert len(board.sources.get(figure, "")) > 10, f"no source for the {figure} figure"
    assert 8_000_000 <= board.clock_hz <= 1_000_000_000
    assert 16 * KIB <= board.flash_bytes <= 128 * KIB * KIB
    assert 2 * KIB <= board.ram_bytes <= 8 * KIB * KIB
    assert board.ram[0].kind in ("sram", "tcm"), "data, stack and arena need on-chip memory"
    assert board.upload_tools and "emulator" not in board.upload_tools
    assert board.uart.baud >= 9600


ZEPHYR = [board for board in REAL if is_for_zephyr(board)]


@pytest.mark.parametrize("board", ZEPHYR, ids=_ids(ZEPHYR))
def test_boards_of_zephyr_name_the_target_of_west(board: Board) -> None:
    assert re.fullmatch(r"\w+(@\w+)?(/\w+)*", board.zephyr_target)
    assert "boards/" in board.sources.get("zephyr", ""), "no source for the Zephyr target"


def test_targets_of_boards_that_zephyr_names_differently() -> None:
    """Zephyr's name of a board with several cores or SoCs needs qualifiers. Zephyr has other names for some boards."""
    expected = {
        "nrf5340dk": "nrf5340dk/nrf5340/cpuapp",
        "nrf54l15dk": "nrf54l15dk/nrf54l15/cpuapp",
        "max78000fthr": "max78000fthr/max78000/m4",
        "tb_sense_12": "sltb004a",
        "hifive1-revb": "hifive1_revb",
    }
    assert {name: load_board(name).zephyr_target for name in expected} == expected


@pytest.mark.parametrize("board", REAL, ids=_ids(REAL))
def test_regions_do_not_overlap(board: Board) -> None:
    for regions in (board.ram, board.flash):
        for low, high in pairwise(sorted(regions, key=lambda region: region.origin)):
            assert low.origin + low.size <= high.origin, f"{low.name} overlaps {high.name}"


@pytest.mark.parametrize("board", all_boards(), ids=_ids(all_boards()))
def test_features_agree_with_the_core(board: Board) -> None:
    assert MUST_HAVE.get(board.core, set()) <= board.features
    assert not (CANNOT_HAVE.get(board.core, set()) & board.features)


@pytest.mark.parametrize("board", [b for b in REAL if b.power], ids=lambda board: board.name)
def test_power_figures_name_their_source_and_are_possible(board: Board) -> None:
    assert board.power is not None
    assert len(board.power.source) > 20
    assert 1.6 <= board.power.supply_v <= 5.5
    per_megahertz = board.power.active_ma * 1e9 / board.clock_hz  # µA/MHz
    assert 3 <= per_megahertz <= 1000


def test_every_file_is_loaded() -> None:
    assert {path.stem for path in BOARD_DIRECTORY.glob("*.toml")} == set(_ids(all_boards()))
