"""What ESP-IDF reads of a generated project: partition table, settings, CMake files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.errors import ProfileError
from arenite.firmware.espidf.partitions import partitions_csv
from arenite.firmware.espidf.sdkconfig import sdkconfig_defaults
from arenite.firmware.generator.project import write_project
from arenite.profiles.boards import Board, all_boards, load_board
from tests import toy_model
from tests.firmware.cross_compiler import configuration

ESP = [board for board in all_boards() if board.espressif is not None]
IDS = [board.name for board in ESP]


def written(directory: Path, board: str, **options: object) -> Path:
    return write_project(directory / "project", toy_model.sources(), [], load_board(board), **options)  # type: ignore[arg-type]


def table(text: str) -> list[tuple[str, str, str, int, int]]:
    """A partition table by the rules of ESP-IDF's documentation, read without the code that wrote it."""
    rows = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, kind, subtype, offset, size = (field.strip() for field in line.split(",")[:5])
            rows.append((name, kind, subtype, int(offset, 0), int(size, 0)))
    return rows


def test_each_chip_of_the_family_has_a_board() -> None:
    chips = {board.espressif.chip for board in ESP if board.espressif}
    assert chips == {"esp32", "esp32s2", "esp32s3", "esp32c3", "esp32c6", "esp32p4"}
    assert {b.espressif.psram for b in ESP if b.espressif} == {"none", "quad", "octal", "hex"}


@pytest.mark.parametrize("board", ESP, ids=IDS)
def test_the_partition_table_is_one_that_the_chip_can_boot(board: Board) -> None:
    assert board.espressif is not None
    rows = table(partitions_csv(board))
    end = 0x9000  # the bootloader, the table at 0x8000 and its checksum
    for name, kind, _, offset, size in rows:
        assert len(name) < 16
        assert offset >= end, f"{name} overlaps what is before it"
        assert offset % (0x10000 if kind == "app" else 0x1000) == 0 and size % 0x1000 == 0
        end = offset + size
    assert end <= board.espressif.flash_size
    (app,) = [row for row in rows if row[1] == "app"]
    assert app[2] == "factory" and app[4] == board.flash_bytes
    # The Arduino core's uploader writes 8 KiB at 0xE000, whatever the table says.
    assert [row[2:] for row in rows if row[1] == "data"] == [("nvs", 0x9000, 0x5000), ("ota", 0xE000, 0x2000)]


def test_a_profile_whose_application_does_not_fit_its_flash_is_refused() -> None:
    board = load_board("esp32dev")
    assert board.espressif is not None
    small = replace(board, espressif=replace(board.espressif, flash_size=2 << 20))
    with pytest.raises(ProfileError, match="does not fit a flash of 2,097,152 B"):
        partitions_csv(small)


@pytest.mark.parametrize("board", ESP, ids=IDS)
def test_settings_keep_the_line_for_the_protocol(board: Board, tmp_path: Path) -> None:
    assert board.espressif is not None
    path = tmp_path / "sdkconfig.defaults"
    path.write_text(sdkconfig_defaults(board, 900, "speed"))
    on = configuration(path)
    assert on["CONFIG_IDF_TARGET"] == f'"{board.espressif.chip}"'
    assert {
        "CONFIG_ESP_CONSOLE_NONE",
        "CONFIG_LOG_DEFAULT_LEVEL_NONE",
        "CONFIG_COMPILER_OPTIMIZATION_PERF",
    } <= set(on)
    assert on["CONFIG_PARTITION_TABLE_CUSTOM_FILENAME"] == '"partitions.csv"'
    assert f"CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ_{board.clock_hz // 10**6}" in on
    assert f"CONFIG_ESPTOOLPY_FLASHSIZE_{board.espressif.flash_size >> 20}MB" in on
    assert int(on["CONFIG_ESP_MAIN_TASK_STACK_SIZE"]) >= 900 + 2048
    has_psram = any(region.kind == "psram" for region in board.ram)
    assert has_psram == (board.espressif.psram != "none")
    assert ("CONFIG_SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY" in on) == has_psram
    assert ("CONFIG_SPIRAM_MODE_OCT" in on) == (board.espressif.psram == "octal")


def test_flash_first_is_for_size() -> None:
    text = sdkconfig_defaults(load_board("esp32dev"), 900, "flash")
    assert "CONFIG_COMPILER_OPTIMIZATION_SIZE=y" in text and "PERF" not in text


def test_other_boards_get_none_of_it(tmp_path: Path) -> None:
    project = written(tmp_path, "nucleo_l4r5zi")
    for name in (
        "CMakeLists.txt",
        "sdkconfig.defaults",
        "partitions.csv",
        "idf_component.yml",
        "src/port_espidf.c",
    ):
        assert not (project / name).exists()


@pytest.mark.parametrize(("board", "usb"), [("seeed_xiao_esp32s3", True), ("esp32-s3-devkitc-1", False)])
def test_the_port_talks_where_the_board_is_wired(board: str, usb: bool, tmp_path: Path) -> None:
    main = (written(tmp_path, board) / "src/CMakeLists.txt").read_text()
    assert ("ARENITE_USB_SERIAL_JTAG" in main) == usb


def test_a_split_arena_makes_espidf_the_environment_of_the_board(tmp_path: Path) -> None:
    """The Arduino core was compiled without static variables in PSRAM."""
    board = load_board("esp32-s3-devkitc-1-n8r8")
    made = write_project(tmp_path / "p", toy_model.sources(), [], board, second=board.ram[1])
    text = (made / "platformio.ini").read_text()
    own = text.split(f"[env:{board.name}]\n")[1].split("[env:")[0]
    assert "framework = espidf" in own and f"[env:{board.name}-espidf]" not in text


#: What idf.py's project.cmake does, as ESP-IDF's documentation of the build system has it: components are folders, and
#: project() takes those that EXTRA_COMPONENT_DIRS and `components/` name.
_PROJECT_CMAKE = """
set(ESP_PLATFORM 1)
function(idf_component_register)
    cmake_parse_arguments(it "" "" "SRCS;INCLUDE_DIRS;REQUIRES;PRIV_REQUIRES" ${ARGN})
    get_filename_component(name ${CMAKE_CURRENT_LIST_DIR} NAME)
    set(COMPONENT_LIB __idf_${name} PARENT_SCOPE)
    add_library(__idf_${name} STATIC ${it_SRCS})
    target_include_directories(__idf_${name} PUBLIC ${it_INCLUDE_DIRS})
    target_compile_definitions(__idf_${name} PRIVATE ESP_PLATFORM)
endfunction()
macro(project name)
    _project(${name} C)
    file(GLOB below components/*)
    foreach(folder ${EXTRA_COMPONENT_DIRS} ${below})
        get_filename_component(folder_name ${folder} NAME)
        add_subdirectory(${folder} ${folder_name})
    endforeach()
endmacro()
"""


def configured(project: Path, idf: Path, *more: str) -> dict[str, str]:
    """Source of the project to the compiler command that CMake made for it."""
    (idf / "tools/cmake").mkdir(parents=True, exist_ok=True)
    (idf / "tools/cmake/project.cmake").write_text(_PROJECT_CMAKE)
    build = project / "build"
    command = ["cmake", "-S", str(project), "-B", str(build), "-DCMAKE_EXPORT_COMPILE_COMMANDS=1", *more]
    done = subprocess.run(
        command, env={"IDF_PATH": str(idf), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    commands = json.loads((build / "compile_commands.json").read_text())
    return {str(Path(entry["file"]).resolve()): entry["command"] for entry in commands}


needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")


@needs_cmake
@pytest.mark.parametrize("by_platformio", [False, True])
def test_cmake_takes_the_folder_as_a_project(by_platformio: bool, tmp_path: Path) -> None:
    project = written(tmp_path, "esp32-c3-devkitm-1")
    # idf.py says that it is ESP-IDF before any file of it is read; PlatformIO names the main component itself.
    more = ["-DESP_PLATFORM=1"]
    if by_platformio:
        more.append(f"-DEXTRA_COMPONENT_DIRS:PATH={project / 'src'}")
    commands = configured(project, tmp_path / "idf", *more)
    every = {str(p.resolve()) for p in project.rglob("*.c") if "build" not in p.parts}
    assert set(commands) == every
    for command in commands.values():
        assert " -O2 " in command and "-DAR_PROFILE" in command and "-fno-strict-overflow" in command
        for folder in ("src", "lib/arenite", "lib/agent"):
            assert re.search(rf"-I\S*/{folder}(/\.)? ", command.replace("/src/../", "/")), command


@needs_cmake
def test_cmake_takes_the_folder_as_a_component(tmp_path: Path) -> None:
    """The model and its kernels, without port and protocol."""
    other = tmp_path / "other"
    (other / "components").mkdir(parents=True)
    written(other / "components", "esp32-c3-devkitm-1")
    (other / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\ninclude($ENV{IDF_PATH}/tools/cmake/project.cmake)\nproject(other)\n"
    )
    commands = configured(other, tmp_path / "idf", "-DESP_PLATFORM=1")
    assert {Path(name).name for name in commands} == {"model.c", "weights.c"}
    manifest = (other / "components/project/idf_component.yml").read_text()
    assert re.search(r'^  idf: ">=5\.3"$', manifest, re.MULTILINE) and "  - esp32c3\n" in manifest
