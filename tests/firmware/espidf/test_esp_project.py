"""ESP-IDF can use the partition table, the settings and the CMake files of a generated project."""

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


def write(directory: Path, board: str, **options: object) -> Path:
    """Write a project of the toy model for ``board`` and return its folder."""
    return write_project(directory / "project", toy_model.sources(), [], load_board(board), **options)  # type: ignore[arg-type]


def table(text: str) -> list[tuple[str, str, str, int, int]]:
    """Return the rows of a partition table: (name, type, subtype, offset, size), with the numbers in bytes.

    The rules are those of ESP-IDF's documentation, independent of the code that writes the table.
    """
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
def test_the_chip_can_boot_with_the_partition_table(board: Board) -> None:
    assert board.espressif is not None
    rows = table(partitions_csv(board))
    end = 0x9000  # after the bootloader, the table at 0x8000 and its checksum
    for name, kind, _, offset, size in rows:
        assert len(name) < 16
        assert offset >= end, f"{name} overlaps the partition before it"
        assert offset % (0x10000 if kind == "app" else 0x1000) == 0 and size % 0x1000 == 0
        end = offset + size
    assert end <= board.espressif.flash_size
    (app,) = [row for row in rows if row[1] == "app"]
    assert app[2] == "factory" and app[4] == board.flash_bytes
    # The Arduino core's uploader always writes 8 KiB at 0xE000.
    assert [row[2:] for row in rows if row[1] == "data"] == [("nvs", 0x9000, 0x5000), ("ota", 0xE000, 0x2000)]


def test_a_profile_whose_application_does_not_fit_its_flash_is_refused() -> None:
    board = load_board("esp32dev")
    assert board.espressif is not None
    small = replace(board, espressif=replace(board.espressif, flash_size=2 << 20))
    with pytest.raises(ProfileError, match="does not fit a flash of 2,097,152 B"):
        partitions_csv(small)


@pytest.mark.parametrize("board", ESP, ids=IDS)
def test_settings_reserve_the_serial_line_for_the_protocol(board: Board, tmp_path: Path) -> None:
    assert board.espressif is not None
    path = tmp_path / "sdkconfig.defaults"
    path.write_text(sdkconfig_defaults(board, 900, "speed"))
    enabled = configuration(path)
    assert enabled["CONFIG_IDF_TARGET"] == f'"{board.espressif.chip}"'
    assert {
        "CONFIG_ESP_CONSOLE_NONE",
        "CONFIG_LOG_DEFAULT_LEVEL_NONE",
        "CONFIG_COMPILER_OPTIMIZATION_PERF",
    } <= set(enabled)
    assert enabled["CONFIG_PARTITION_TABLE_CUSTOM_FILENAME"] == '"partitions.csv"'
    assert f"CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ_{board.clock_hz // 10**6}" in enabled
    assert f"CONFIG_ESPTOOLPY_FLASHSIZE_{board.espressif.flash_size >> 20}MB" in enabled
    assert int(enabled["CONFIG_ESP_MAIN_TASK_STACK_SIZE"]) >= 900 + 2048
    has_psram = any(region.kind == "psram" for region in board.ram)
    assert has_psram == (board.espressif.psram != "none")
    assert ("CONFIG_SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY" in enabled) == has_psram
    assert ("CONFIG_SPIRAM_MODE_OCT" in enabled) == (board.espressif.psram == "octal")


def test_the_goal_flash_optimizes_for_size() -> None:
    text = sdkconfig_defaults(load_board("esp32dev"), 900, "flash")
    assert "CONFIG_COMPILER_OPTIMIZATION_SIZE=y" in text and "PERF" not in text


def test_projects_of_other_boards_have_no_espidf_files(tmp_path: Path) -> None:
    project = write(tmp_path, "nucleo_l4r5zi")
    for name in (
        "CMakeLists.txt",
        "sdkconfig.defaults",
        "partitions.csv",
        "idf_component.yml",
        "src/port_espidf.c",
    ):
        assert not (project / name).exists()


@pytest.mark.parametrize(("board", "usb"), [("seeed_xiao_esp32s3", True), ("esp32-s3-devkitc-1", False)])
def test_the_port_uses_the_connector_of_the_board(board: str, usb: bool, tmp_path: Path) -> None:
    main = (write(tmp_path, board) / "src/CMakeLists.txt").read_text()
    assert ("ARENITE_USB_SERIAL_JTAG" in main) == usb


def test_a_split_arena_makes_espidf_the_environment_of_the_board(tmp_path: Path) -> None:
    """The Arduino core does not support static variables in PSRAM."""
    board = load_board("esp32-s3-devkitc-1-n8r8")
    project = write_project(tmp_path / "p", toy_model.sources(), [], board, second=board.ram[1])
    text = (project / "platformio.ini").read_text()
    environment_text = text.split(f"[env:{board.name}]\n")[1].split("[env:")[0]
    assert "framework = espidf" in environment_text and f"[env:{board.name}-espidf]" not in text


#: A stand-in for ESP-IDF's project.cmake, as its documentation of the build system describes it: components are
#: folders, and project() uses the folders in EXTRA_COMPONENT_DIRS and `components/`.
_PROJECT_CMAKE = """
set(ESP_PLATFORM 1)
function(idf_component_register)
    cmake_parse_arguments(it "" "" "SRCS;INCLUDE_DIRS;PRIV_INCLUDE_DIRS;REQUIRES;PRIV_REQUIRES" ${ARGN})
    get_filename_component(name ${CMAKE_CURRENT_LIST_DIR} NAME)
    set(COMPONENT_LIB __idf_${name} PARENT_SCOPE)
    add_library(__idf_${name} STATIC ${it_SRCS})
    target_include_directories(__idf_${name} PUBLIC ${it_INCLUDE_DIRS} PRIVATE ${it_PRIV_INCLUDE_DIRS})
    list(TRANSFORM it_PRIV_REQUIRES PREPEND __idf_)
    target_link_libraries(__idf_${name} PRIVATE ${it_PRIV_REQUIRES})
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


def compile_commands(project: Path, idf: Path, *options: str) -> dict[str, str]:
    """Configure the project with CMake, and map each of its sources to its compiler command."""
    (idf / "tools/cmake").mkdir(parents=True, exist_ok=True)
    (idf / "tools/cmake/project.cmake").write_text(_PROJECT_CMAKE)
    build = project / "build"
    command = ["cmake", "-S", str(project), "-B", str(build), "-DCMAKE_EXPORT_COMPILE_COMMANDS=1", *options]
    result = subprocess.run(
        command, env={"IDF_PATH": str(idf), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    commands = json.loads((build / "compile_commands.json").read_text())
    return {str(Path(entry["file"]).resolve()): entry["command"] for entry in commands}


needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")


@needs_cmake
@pytest.mark.parametrize("by_platformio", [False, True])
def test_the_folder_is_an_espidf_project(by_platformio: bool, tmp_path: Path) -> None:
    project = write(tmp_path, "esp32-c3-devkitm-1")
    # idf.py defines ESP_PLATFORM before CMake reads any file; PlatformIO names the main component.
    options = ["-DESP_PLATFORM=1"]
    if by_platformio:
        options.append(f"-DEXTRA_COMPONENT_DIRS:PATH={project / 'src'}")
    commands = compile_commands(project, tmp_path / "idf", *options)
    sources = {str(p.resolve()) for p in project.rglob("*.c") if "build" not in p.parts}
    assert set(commands) == sources
    for command in commands.values():
        assert " -O2 " in command and "-DAR_PROFILE" in command and "-fno-strict-overflow" in command
        for folder in ("src", "lib/arenite", "lib/agent"):
            assert re.search(rf"-I\S*/{folder}(/\.)? ", command.replace("/src/../", "/")), command


@needs_cmake
def test_the_folder_is_an_espidf_component(tmp_path: Path) -> None:
    """The component has the model and its kernels, but no port and no protocol."""
    outer_project = tmp_path / "other"
    (outer_project / "components").mkdir(parents=True)
    write(outer_project / "components", "esp32-c3-devkitm-1")
    (outer_project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\ninclude($ENV{IDF_PATH}/tools/cmake/project.cmake)\nproject(other)\n"
    )
    commands = compile_commands(outer_project, tmp_path / "idf", "-DESP_PLATFORM=1")
    assert {Path(name).name for name in commands} == {"model.c", "weights.c"}
    manifest = (outer_project / "components/project/idf_component.yml").read_text()
    assert re.search(r'^  idf: ">=5\.3"$', manifest, re.MULTILINE) and "  - esp32c3\n" in manifest


@needs_cmake
def test_a_component_shows_only_its_own_header(tmp_path: Path) -> None:
    """The engine's headers have common names, such as bits.h, and must not hide those of other components."""
    outer_project = tmp_path / "other"
    (outer_project / "components/user").mkdir(parents=True)
    write(outer_project / "components", "esp32-c3-devkitm-1")
    (outer_project / "components/user/CMakeLists.txt").write_text(
        'idf_component_register(SRCS "user.c" PRIV_REQUIRES project)\n'
    )
    (outer_project / "components/user/user.c").write_text(
        '#include "model.h"\n#if __has_include("bits.h") || __has_include("arenite.h")\n#error "shown"\n#endif\n'
        "const ar_model *used_model(void) { return &model; }\n"
    )
    (outer_project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\ninclude($ENV{IDF_PATH}/tools/cmake/project.cmake)\nproject(other)\n"
    )
    commands = compile_commands(outer_project, tmp_path / "idf", "-DESP_PLATFORM=1")
    user = next(command for name, command in commands.items() if name.endswith("/user.c"))
    subprocess.run(f"{user} -fsyntax-only", shell=True, check=True, cwd=tmp_path)
