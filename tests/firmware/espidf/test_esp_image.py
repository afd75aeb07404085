"""Firmware images for the ESP32 family, linked for the chip's memory map, and written and checked by esptool."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from arenite.firmware.generator.features import Features
from arenite.firmware.generator.project import write_project
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.build.project import generate_project
from arenite.profiles.boards import load_board
from tests import toy_model
from tests.development_models import shared_model
from tests.firmware.cross_compiler import cmake, environment, have_compilers
from tests.firmware.espidf.esp_image import CHIPS, PAGE, Image, address_of, constants, esptool, link

pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    pytest.mark.skipif(find_spec("esptool") is None, reason="needs esptool"),
]
BOARDS = (
    *("esp32-c3-devkitm-1", "esp32-c6-devkitc-1", "esp32-p4-evboard"),
    *("esp32dev", "esp32-s2-saola-1", "esp32-s3-devkitc-1"),
)


@pytest.mark.parametrize("name", BOARDS)
def test_weights_stay_in_flash(name: str, tmp_path: Path) -> None:
    """All weights are in mapped flash, and no segment that is loaded into RAM contains them."""
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("needs the cross compiler for its core")
    assert board.espressif is not None
    esp, chip = board.espressif, CHIPS[board.espressif.chip]
    project = tmp_path / "project"
    generate_project(prepare(shared_model("kws01_int8")), board, project)
    elf = link(project, board, cmake(project, "espidf"), tmp_path / "linked")
    binary = tmp_path / "firmware.bin"
    options = ["--flash-mode", esp.flash_mode, "--flash-size", f"{esp.flash_size >> 20}MB"]
    esptool("--chip", esp.chip, "elf2image", *options, "-o", binary, elf)

    output = esptool("--chip", esp.chip, "image-info", binary)
    assert re.search(r"Checksum: 0x[0-9a-f]{2} \(valid\)", output), output
    assert re.search(r"Validation hash: [0-9a-f]{64} \(valid\)", output), output
    assert f"\n{board.mcu} Image Header\n" in output

    image = Image.read(binary.read_bytes())
    assert (image.chip, image.entry) == (chip.number, address_of(elf, "call_start_cpu0"))
    assert (image.flash_mode, image.flash_size) == (
        {"qio": 0, "dio": 2}[esp.flash_mode],
        {4: 2, 8: 3, 16: 4}[esp.flash_size >> 20],
    )
    mapped, ram = image.within(chip.drom), image.within(chip.dram) + image.within(chip.iram)
    assert len(mapped) == 1 and len(ram) == 2
    for segment in (*mapped, *image.within(chip.irom)):
        # A page of flash is mapped to a whole page of memory.
        assert segment.file % PAGE == segment.address % PAGE

    arrays = constants(elf, project / "src/weights.h")
    assert sum(len(data) for _, data in arrays.values()) > 20_000
    rodata = mapped[0]
    for array, (address, data) in arrays.items():
        start = address - rodata.address
        assert rodata.data[start : start + len(data)] == data, array
    assert sum(len(segment.data) for segment in ram) < 256  # data of the port and of the stand-in for ESP-IDF
    assert len(binary.read_bytes()) <= board.flash_bytes


@pytest.mark.parametrize("name", ["esp32cam"])
def test_a_changed_image_is_detected(name: str, tmp_path: Path) -> None:
    """The checks above can fail: the image states its chip, and a flipped bit makes the checksum wrong."""
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("needs the cross compiler for its core")
    assert board.espressif is not None
    project = tmp_path / "project"
    generate_project(prepare(shared_model("ad01_int8")), board, project)
    elf = link(project, board, cmake(project, "espidf"), tmp_path / "linked")
    binary = tmp_path / "firmware.bin"
    esptool("--chip", board.espressif.chip, "elf2image", "-o", binary, elf)
    data = bytearray(binary.read_bytes())
    assert Image.read(bytes(data)).chip == CHIPS[board.espressif.chip].number
    data[len(data) // 2] ^= 1
    with pytest.raises(AssertionError):
        Image.read(bytes(data))
    binary.write_bytes(bytes(data))
    assert "(invalid" in esptool("--chip", board.espressif.chip, "image-info", binary)


@pytest.mark.parametrize("name", ["esp32-s3-devkitc-1-n8r8", "esp32cam"])
def test_an_arena_over_two_memories_has_its_second_part_in_psram(name: str, tmp_path: Path) -> None:
    """The second part is a static variable in PSRAM, so it is not in the image. PlatformIO can build this only with
    ESP-IDF."""
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("needs the cross compiler for its core")
    assert board.espressif is not None
    chip = CHIPS[board.espressif.chip]
    project = tmp_path / "project"
    prepared = prepare(shared_model("vww01_int8"))
    generated = generate_project(prepared, board, project, BuildOptions("ram", fast_ram=16384))
    assert environment(project, name)["framework"] == ["espidf"]
    elf = link(project, board, cmake(project, "espidf"), tmp_path / "linked")
    with elf.open("rb") as stream:
        sections = {section.name: section for section in ELFFile(stream).iter_sections()}
        slow, fast = sections[".ext_ram.bss"], sections[".dram0.bss"]
        assert slow["sh_type"] == fast["sh_type"] == "SHT_NOBITS"
        assert chip.psram[0] <= slow["sh_addr"] < chip.psram[0] + chip.psram[1]
        assert slow["sh_size"] == generated.prediction.slow_ram
        assert 8192 < fast["sh_size"] < 16384 + 4096  # including a second core's stack
    binary = tmp_path / "firmware.bin"
    esptool("--chip", board.espressif.chip, "elf2image", "-o", binary, elf)
    assert Image.read(binary.read_bytes()).within(chip.psram) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["esp32-c3-devkitm-1", "esp32dev"])
def test_the_log_is_in_memory_that_survives_a_reset(name: str, tmp_path: Path) -> None:
    """The log is in RTC memory, which neither loading the image nor the start-up code overwrites."""
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("needs the cross compiler for its core")
    assert board.espressif is not None
    chip = CHIPS[board.espressif.chip]
    features = Features(health=True)
    project = write_project(tmp_path / "project", toy_model.sources(), [], board, features=features)
    elf = link(project, board, cmake(project, "espidf"), tmp_path / "linked")
    with elf.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".rtc_noinit")
        assert section is not None and section["sh_type"] == "SHT_NOBITS"
        assert section["sh_addr"] == chip.rtc[0] and 64 < section["sh_size"] < chip.rtc[1]
    binary = tmp_path / "firmware.bin"
    esptool("--chip", board.espressif.chip, "elf2image", "-o", binary, elf)
    assert Image.read(binary.read_bytes()).within(chip.rtc) == []
