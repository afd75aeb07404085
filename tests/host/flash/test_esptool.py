"""The real esptool writes the built files to the flash of a simulated ROM loader."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.errors import AreniteError, DeviceError, UsageError
from arenite.host.flash.esp_layout import chip_of, flash_parts, otadata_for_first_slot, partitions
from arenite.host.flash.flash import flash, upload_commands
from arenite.profiles.boards import all_boards, load_board
from tests.host.flash.esp_rom import EspRom
from tests.host.flash.projects import built
from tests.host.flash.real_tools import need

#: A pseudo-terminal has no lines for a reset, and the simulated ROM accepts no stub.
PTY = ("--no-stub", "--before", "no-reset", "--after", "no-reset", "--connect-attempts", "1")


@pytest.fixture
def esptool(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put esptool on the PATH, or skip the test."""
    need("esptool", monkeypatch, "esptool")
    yield


def entry(partition_type: int, subtype: int, offset: int, size: int, label: str) -> bytes:
    """Return an entry of a partition table in ESP-IDF's binary format."""
    return struct.pack("<HBBII16sI", 0x50AA, partition_type, subtype, offset, size, label.encode(), 0)


TABLE = (
    entry(1, 2, 0x9000, 0x5000, "nvs")
    + entry(1, 0, 0xE000, 0x2000, "otadata")
    + entry(0, 0x10, 0x20000, 0x140000, "app0")
    + entry(0, 0x11, 0x160000, 0x140000, "app1")
).ljust(0xC00, b"\xff")


def esp_project(folder: Path, board: str, size: int = 30_001) -> tuple[Path, dict[int, bytes]]:
    """Return a project, and the expected content of the flash by address."""
    directory = built(folder, board)
    output = directory / ".pio" / "build" / board
    boot = b"\xe9" + os.urandom(9_000)
    app = b"\xe9" + os.urandom(size - 1)
    for name, data in (("bootloader.bin", boot), ("partitions.bin", TABLE), ("firmware.bin", app)):
        (output / name).write_bytes(data)
    boot_address = {"esp32": 0x1000}.get(chip_of(load_board(board)), 0)
    return directory, {boot_address: boot, 0x8000: TABLE, 0xE000: otadata_for_first_slot(), 0x20000: app}


@pytest.mark.slow
@pytest.mark.parametrize(("board", "chip"), [("esp32dev", "esp32"), ("esp32-c3-devkitm-1", "esp32c3")])
def test_every_part_is_written_to_its_address(tmp_path: Path, esptool: None, board: str, chip: str) -> None:
    directory, expected = esp_project(tmp_path / "p", board)
    with EspRom(chip) as rom:
        upload = flash(directory, load_board(board), rom.port, tool="esptool", extra=PTY, check=False)
        for address, data in expected.items():
            assert bytes(rom.flash[address : address + len(data)]) == data, hex(address)
        assert {address for address, _ in rom.writes} == set(expected)
    assert upload.nbytes == sum(map(len, expected.values()))
    assert (upload.tool, upload.port, upload.verified) == ("esptool", rom.port, None)


@pytest.mark.slow
def test_a_wrong_chip_raises_an_error(tmp_path: Path, esptool: None) -> None:
    directory, _ = esp_project(tmp_path / "p", "esp32-c3-devkitm-1")
    with (
        EspRom("esp32") as rom,
        pytest.raises(DeviceError, match="is an ESP32, but the project is for esp32-c3"),
    ):
        flash(directory, load_board("esp32-c3-devkitm-1"), rom.port, tool="esptool", extra=PTY)
    assert rom.writes == []


@pytest.mark.slow
def test_a_wrong_byte_in_flash_raises_an_error(tmp_path: Path, esptool: None) -> None:
    directory, _ = esp_project(tmp_path / "p", "esp32dev", 5_000)
    with (
        EspRom("esp32", spoil=0x20010) as rom,
        pytest.raises(DeviceError, match="flash of esp32dev differs"),
    ):
        flash(directory, load_board("esp32dev"), rom.port, tool="esptool", extra=PTY)


@pytest.mark.slow
def test_a_chip_that_is_not_in_its_loader_raises_an_error(tmp_path: Path, esptool: None) -> None:
    directory, _ = esp_project(tmp_path / "p", "esp32dev", 5_000)
    with (
        EspRom("esp32", deaf=True) as rom,
        pytest.raises(DeviceError, match="not in its ROM loader") as caught,
    ):
        flash(directory, load_board("esp32dev"), rom.port, tool="esptool", extra=PTY)
    assert "BOOT" in caught.value.hint


@pytest.mark.slow
def test_a_missing_port_raises_an_error(tmp_path: Path, esptool: None) -> None:
    directory, _ = esp_project(tmp_path / "p", "esp32dev", 5_000)
    with pytest.raises(DeviceError, match="The serial port /dev/ttyNOPE does not exist"):
        flash(directory, load_board("esp32dev"), "/dev/ttyNOPE", tool="esptool")


def test_the_printed_command_names_chip_port_and_addresses(tmp_path: Path) -> None:
    directory, _ = esp_project(tmp_path / "p", "esp32-s3-devkitc-1", 5_000)
    (line,) = upload_commands(directory, load_board("esp32-s3-devkitc-1"), "/dev/ttyACM0", tool="esptool")
    words = line.split()
    # With its folder if the program is only in the folder of this Python.
    assert Path(words[0]).name in (
        "esptool",
        "esptool.py",
    )
    assert words[1:5] == ["--chip", "esp32s3", "--port", "/dev/ttyACM0"]
    assert words[5] in ("write-flash", "write_flash")
    assert words[6::2] == ["0x0", "0x8000", "0xe000", "0x20000"]


def test_without_a_partition_table_only_the_application_is_written(tmp_path: Path) -> None:
    directory, _ = esp_project(tmp_path / "p", "esp32dev", 5_000)
    output = directory / ".pio/build/esp32dev"
    for name in ("bootloader.bin", "partitions.bin"):
        (output / name).unlink()
    assert [
        (p.address, p.path.name) for p in flash_parts(load_board("esp32dev"), output / "firmware.bin")
    ] == [(0x10000, "firmware.bin")]


def test_invalid_images_raise_an_error(tmp_path: Path) -> None:
    board = load_board("esp32dev")
    directory, _ = esp_project(tmp_path / "p", "esp32dev", 5_000)
    image = directory / ".pio/build/esp32dev/firmware.bin"
    image.write_bytes(b"\x7fELF")
    with pytest.raises(UsageError, match="not an image for an ESP chip"):
        flash_parts(board, image)
    image.write_bytes(b"\xe9" * 0x140001)
    with pytest.raises(UsageError, match="its partition holds 1,310,720"):
        flash_parts(board, image)
    (image.parent / "partitions.bin").write_bytes(b"\xff" * 64)
    with pytest.raises(UsageError, match="no partition for an application"):
        flash_parts(board, image)
    image.unlink()
    with pytest.raises(UsageError, match="does not run a bare ELF"):
        flash_parts(board, image)


def test_otadata_selects_the_first_slot() -> None:
    """The data contain sequence number 1 with its checksum, like every boot_app0.bin."""
    data = otadata_for_first_slot()
    assert (len(data), data[:4], data[28:32]) == (0x2000, b"\1\0\0\0", bytes.fromhex("9a984347"))
    assert set(data[4:28] + data[32:]) == {0xFF}


def test_the_partition_table_is_parsed() -> None:
    assert partitions(TABLE) == {
        (1, 2): (0x9000, 0x5000),
        (1, 0): (0xE000, 0x2000),
        (0, 0x10): (0x20000, 0x140000),
        (0, 0x11): (0x160000, 0x140000),
    }
    assert partitions(b"") == {}


def test_every_board_with_esptool_has_a_chip() -> None:
    for board in all_boards():
        if "esptool" in board.upload_tools:
            assert chip_of(board).startswith("esp"), board.name
    with pytest.raises(AreniteError, match="Espressif"):
        chip_of(load_board("pico"))
