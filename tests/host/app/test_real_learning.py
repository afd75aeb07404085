"""Applications that learn on real boards keep what they learned in the flash memory of the board."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arenite.host.app.generate import generate_app
from arenite.profiles.boards import load_board
from tests.host.app.learning_models import learning_model


def _written(board: str, tmp_path: Path) -> tuple[Path, str]:
    """Write the application, and return its folder and its file of numbers."""
    generate_app(learning_model(tmp_path), load_board(board), tmp_path / "app")
    return tmp_path / "app", (tmp_path / "app/lib/model/app_learning.h").read_text()


@pytest.mark.parametrize(("board", "end"), [("nano33ble", 0x100000), ("adafruit_feather_nrf52840", 0xED000)])
def test_an_nrf52_has_the_last_pages_of_its_program_region(board: str, end: int, tmp_path: Path) -> None:
    folder, text = _written(board, tmp_path)
    address, pages = (
        int(re.findall(rf"{name} (\w+?)u\n", text)[0], 0) for name in ("APP_FLASH_ADDRESS", "APP_FLASH_PAGES")
    )
    assert address + pages * 4096 == end and pages >= 2
    assert (folder / "lib/app/flash_region_nrf.c").exists()
    assert (folder / "lib/model/arenite/flash_nrf.h").exists()


@pytest.mark.parametrize(
    ("board", "source", "page", "end"),
    [
        ("disco_l475vg_iot01a", "flash_region_stm32l4.c", 2048, 0x08100000),
        ("nucleo_f411re", "flash_region_stm32f4.c", 131072, 0x08080000),
    ],
)
def test_an_stm32_has_the_last_pages_of_its_flash_memory(
    board: str, source: str, page: int, end: int, tmp_path: Path
) -> None:
    folder, text = _written(board, tmp_path)
    address, bytes_of_page, pages = (
        int(re.findall(rf"{name} (\w+?)u\n", text)[0], 0)
        for name in ("APP_FLASH_ADDRESS", "APP_FLASH_PAGE", "APP_FLASH_PAGES")
    )
    assert bytes_of_page == page and address + pages * page == end and pages >= 2
    assert {source, "flash_region.h", "flash_region_stm32.h"} <= {
        path.name for path in (folder / "lib/app").iterdir()
    }


def test_a_pico_has_sectors_after_its_program(tmp_path: Path) -> None:
    folder, text = _written("pico", tmp_path)
    cmake = (folder / "CMakeLists.txt").read_text()
    assert '"lib/app/flash_region_pico.c"' in cmake and "hardware_flash" in cmake
    assert "APP_FLASH_ADDRESS" not in text


def test_an_esp32_has_a_partition(tmp_path: Path) -> None:
    folder, text = _written("esp32-c3-devkitm-1", tmp_path)
    pages = int(re.findall(r"APP_FLASH_PAGES (\d+)u", text)[0])
    rows = [
        [word.strip() for word in line.split(",")]
        for line in (folder / "partitions.csv").read_text().splitlines()
        if not line.startswith("#")
    ]
    (state,) = (row for row in rows if row[0] == "arenite")
    (app,) = (row for row in rows if row[0] == "factory")
    assert state[1:3] == ["data", "0x40"] and int(state[4], 0) == pages * 4096
    assert int(app[3], 0) + int(app[4], 0) == int(state[3], 0)
    assert "esp_partition" in (folder / "src/CMakeLists.txt").read_text()
