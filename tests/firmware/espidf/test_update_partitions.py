"""The partition table of an ESP32 with updates is the one that ESP-IDF's own tool makes, and obeys ESP-IDF's rules."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import sys
from dataclasses import replace
from importlib import util
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.firmware.espidf.update_partitions import (
    partition_table,
    update_partitions,
    update_partitions_csv,
)
from arenite.profiles.boards import Board, all_boards, load_board
from tests.firmware.app.vendor_headers import HEADERS

ESP = [board for board in all_boards() if board.espressif is not None]
_GENERATOR = HEADERS / "esp-idf/components/partition_table/gen_esp32part.py"
_KINDS = {"app": 0, "data": 1}
_SUBTYPES = {"nvs": 2, "ota": 0, "ota_0": 16, "ota_1": 17, "0x41": 0x41, "0x42": 0x42}


@pytest.mark.parametrize("board", ESP, ids=lambda board: board.name)
def test_the_slots_obey_the_rules_of_esp_idf_and_fill_the_flash(board: Board) -> None:
    assert board.espressif is not None
    table = update_partitions(board)
    end = 0x9000
    for p in table:
        assert p.offset >= end and p.offset % (0x10000 if p.type == "app" else 0x1000) == 0
        assert p.size % 0x1000 == 0 and len(p.name) < 16
        end = p.offset + p.size
    assert board.espressif.flash_size - 0x4000 <= end <= board.espressif.flash_size
    sizes = {p.name: p.size for p in table}
    assert sizes["otadata"] == 0x2000 and sizes["ota_0"] == sizes["ota_1"] == board.espressif.flash_size // 4
    assert sizes["model_0"] == sizes["model_1"] >= 0xF0000 and sizes["update"] == 0x4000
    assert board.espressif.flash_size >= 4 << 20


@pytest.mark.parametrize("board", ESP, ids=lambda board: board.name)
def test_the_binary_table_has_the_rows_of_the_text_and_their_md5(board: Board) -> None:
    binary = partition_table(update_partitions(board))
    lines = [line for line in update_partitions_csv(board).splitlines() if not line.startswith("#")]
    assert len(binary) == 0xC00
    for number, line in enumerate(lines):
        magic, kind, subtype, offset, size, name, flags = struct.unpack_from(
            "<HBBII16sI", binary, 32 * number
        )
        row = [field.strip() for field in line.split(",")]
        assert (magic, flags, name.rstrip(b"\0").decode()) == (0x50AA, 0, row[0])
        assert (kind, subtype) == (_KINDS[row[1]], _SUBTYPES[row[2]])
        assert (offset, size) == (int(row[3], 16), int(row[4], 16))
    end = 32 * len(lines)
    assert binary[end : end + 16] == b"\xeb\xeb" + b"\xff" * 14
    assert binary[end + 16 : end + 32] == hashlib.md5(binary[:end]).digest()
    assert set(binary[end + 32 :]) == {0xFF}


@pytest.mark.skipif(not _GENERATOR.is_file(), reason="needs a checkout of ESP-IDF (ARENITE_DRIVER_HEADERS)")
@pytest.mark.skipif(util.find_spec("rich_click") is None, reason="needs rich_click: pip install esptool")
@pytest.mark.parametrize("board", ESP, ids=lambda board: board.name)
def test_esp_idf_makes_the_same_binary_table(board: Board, tmp_path: Path) -> None:
    assert board.espressif is not None
    text, binary = tmp_path / "partitions.csv", tmp_path / "partitions.bin"
    text.write_text(update_partitions_csv(board))
    options = ("-q", "--offset", "0x8000", "--flash-size", f"{board.espressif.flash_size >> 20}MB")
    subprocess.run([sys.executable, str(_GENERATOR), *options, str(text), str(binary)], check=True)
    assert binary.read_bytes() == partition_table(update_partitions(board))


def test_other_boards_and_small_flash_memories_are_refused() -> None:
    with pytest.raises(UsageError, match="no chip of Espressif"):
        update_partitions(load_board("nrf52840_dk"))
    board = load_board("esp32dev")
    assert board.espressif is not None
    with pytest.raises(UsageError, match="1,048,576 bytes of flash, too few"):
        update_partitions(replace(board, espressif=replace(board.espressif, flash_size=1 << 20)))
