"""Generated libraries work with compilers and build systems: CMake, PlatformIO's packer and an Arduino sketch.

ESP-IDF and Zephyr are not installed: their CMake files run with stand-ins for the functions that they call.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tarfile
import time
import tty
from collections.abc import Sequence
from pathlib import Path

import pytest

from arenite.firmware.boards import cores
from arenite.firmware.generator.target import Target
from arenite.host.build.prepare import Prepared
from arenite.host.link.transport import SerialTransport
from tests.firmware.library.libraries import (
    ARDUINO,
    ModelTurns,
    flags,
    needs_cmake,
    numbers,
    run,
    sources,
    write_library_of,
)

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow")


def compile_for_this_computer(arguments: Sequence[str | Path], compiler: str = "gcc") -> None:
    """Run a compiler of this computer with the arguments."""
    subprocess.run([compiler, *map(str, arguments)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("standard", ["c99", "gnu17"])
def test_every_source_compiles_alone_without_an_include_path(library: Path, standard: str) -> None:
    compile_for_this_computer([f"-std={standard}", *STRICT, "-O1", "-fsyntax-only", *sources(library)])


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(
    "core", ["rv32imc", "cortex-m0", "cortex-m4f", "cortex-m7", "cortex-m33", "cortex-m55"]
)
def test_a_library_compiles_for_its_core(core: str, models: dict[str, Prepared], tmp_path: Path) -> None:
    library = write_library_of(tmp_path / "library", models, Target.for_core(core, "speed"))
    compiler_core = cores.core_named(core)
    (tmp_path / "objects").mkdir()
    subprocess.run(
        [
            f"{compiler_core.prefix}gcc",
            *compiler_core.architecture,
            *STRICT[:2],
            "-Werror",
            "-ffreestanding",
            "-O2",
            "-c",
            *sources(library),
        ],
        check=True,
        cwd=tmp_path / "objects",
    )


@pytest.mark.qemu
@pytest.mark.parametrize(("core", "without"), [("cortex-m4f", "cortex-m3"), ("cortex-m55", "cortex-m33")])
def test_compiling_for_a_core_without_the_instructions_is_a_clear_error(
    core: str, without: str, models: dict[str, Prepared], tmp_path: Path
) -> None:
    library = write_library_of(tmp_path / "library", models, Target.for_core(core, "speed"))
    compiler_core = cores.core_named(without)
    command = [
        f"{compiler_core.prefix}gcc",
        *compiler_core.architecture,
        "-fsyntax-only",
        str(library / "src/large_model.c"),
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode != 0
    assert "#error" in result.stderr and f"compile with -mcpu={core.rstrip('f')}" in result.stderr
    subprocess.run([*command, "-DAR_HOST"], check=True)


@pytest.mark.qemu
@pytest.mark.parametrize(
    ("core", "other_core"),
    [
        ("cortex-m3", "rv32imc"),
        ("cortex-m3", "cortex-m0"),
        ("rv32imc", "cortex-m3"),
        ("xtensa-lx106", "rv32imc"),
    ],
)
def test_weights_in_the_layout_of_another_core_are_an_error(
    core: str, other_core: str, models: dict[str, Prepared], tmp_path: Path
) -> None:
    library = write_library_of(tmp_path / "library", models, Target.for_core(core, "speed"))

    def compile_for(name: str) -> subprocess.CompletedProcess[str]:
        compiler_core = cores.core_named(name)
        command = [
            f"{compiler_core.prefix}gcc",
            *compiler_core.architecture,
            "-ffreestanding",
            "-fsyntax-only",
            str(library / "src/large_model.c"),
        ]
        return subprocess.run(command, capture_output=True, text=True)

    assert compile_for(core).returncode == 0
    result = compile_for(other_core)
    assert result.returncode != 0 and "generate this model for your core" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_the_headers_compile_as_c_and_cpp(library: Path, compiler: str, tmp_path: Path) -> None:
    """One program includes all headers and uses everything in them, in both languages."""
    program = tmp_path / ("program.c" if compiler == "gcc" else "program.cpp")
    program.write_text(
        '#include "small_model.h"\n#include "large_model.h"\n#include "sums_model.h"\n#include <stdio.h>\n'
        "int main(void)\n{\n"
        "    const int shape[SMALL_MODEL_INPUT_0_RANK] = SMALL_MODEL_INPUT_0_SHAPE;\n"
        "    int8_t *in = small_model_input_0();\n"
        "    for (int i = 0; i < SMALL_MODEL_INPUT_0_ELEMENTS; i++) {\n"
        "        in[i] = small_model_input_0_stored(0.5f);\n    }\n"
        "    small_model_invoke();\n    large_model_invoke();\n    sums_model_reset();\n"
        "    int8_t sums[3];\n"
        "    for (int turn = 0; turn < 3; turn++) {\n"
        "        if (turn == 2) {\n            sums_model_reset();\n        }\n"
        "        sums_model_input_0()[0] = sums_model_input_0_stored(2.04f);\n        sums_model_invoke();\n"
        "        sums[turn] = sums_model_output_0()[0];\n    }\n"
        '    printf("%d %d %d %d ", shape[0], shape[1], shape[2], shape[3]);\n'
        "    const float more = sums_model_output_0_real(sums[1]) - sums_model_output_0_real(sums[0]);\n"
        '    printf("%.1f %d %d ", (double)more, sums[2] - sums[0], SUMS_MODEL_STATEFUL);\n'
        '    printf("%s %d\\n", small_model.name, (int)(AR_ARENA_BYTES - LARGE_MODEL_ARENA_BYTES));\n'
        "    return 0;\n}\n"
    )
    archive = tmp_path / "objects"
    archive.mkdir()
    subprocess.run(["gcc", "-O1", "-c", *map(str, sources(library))], check=True, cwd=archive)
    language = ["-std=c99"] if compiler == "gcc" else ["-std=c++11"]
    compile_for_this_computer(
        [*language, *STRICT, *flags(library / "src"), program, *archive.glob("*.o"), "-o", tmp_path / "it"],
        compiler,
    )
    assert run(tmp_path / "it") == "1 12 12 3 2.0 0 1 small 0\n"


@pytest.mark.slow
@pytest.mark.parametrize("example", ["zephyr/src/main.c", "esp_idf/main/main.c"])
def test_examples_for_operating_systems_run_on_this_computer(
    library: Path, example: str, tmp_path: Path
) -> None:
    """Only their C code runs, which needs no more from the system than printf."""
    (tmp_path / "entry.c").write_text("void app_main(void);\nint main(void) { app_main(); return 0; }\n")
    entry = [tmp_path / "entry.c"] if example.startswith("esp") else []
    compile_for_this_computer(
        [
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            *flags(library / "src"),
            *sources(library),
            library / "examples" / example,
            *entry,
            "-o",
            tmp_path / "it",
        ]
    )
    assert [len(line) for line in numbers(run(tmp_path / "it"))] == [5, 5, 4]


@pytest.mark.slow
@needs_cmake
def test_cmake_builds_a_library_as_part_of_a_project(library: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(mine C)\n"
        f"add_subdirectory({library} models)\n"
        f"add_executable(mine {library}/examples/zephyr/src/main.c)\ntarget_link_libraries(mine arenite_models)\n"
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build")
    assert len(numbers(run(tmp_path / "build/mine"))) == 3


#: A stand-in for ESP-IDF's function, as its documentation describes it.
_ESP_IDF = """
cmake_minimum_required(VERSION 3.16)
project(mine C)
set(ESP_PLATFORM 1)
function(idf_component_register)
    cmake_parse_arguments(it "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
    set(COMPONENT_LIB component PARENT_SCOPE)
    add_library(component STATIC ${it_SRCS})
    target_include_directories(component PUBLIC ${it_INCLUDE_DIRS})
endfunction()
"""

#: Stand-ins for Zephyr's functions, as its documentation describes them.
_ZEPHYR = """
cmake_minimum_required(VERSION 3.20)
project(mine C)
set(CONFIG_ARENITE_MODELS y)
function(zephyr_library_named name)
    add_library(component STATIC)
    set_property(GLOBAL PROPERTY zephyr_library_name ${name})
endfunction()
function(zephyr_include_directories)
    include_directories(${ARGN})
    set(INCLUDED ${ARGN} PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
    foreach(source ${ARGN}) # newer releases need relative paths to relocate code
        if(IS_ABSOLUTE ${source})
            message(FATAL_ERROR "${source} is absolute")
        endif()
    endforeach()
    target_sources(component PRIVATE ${ARGN})
endfunction()
function(zephyr_library_compile_options)
    target_compile_options(component PRIVATE ${ARGN})
endfunction()
"""


@pytest.mark.slow
@needs_cmake
@pytest.mark.parametrize(("stand_in", "folder"), [(_ESP_IDF, "."), (_ZEPHYR, "zephyr")])
def test_cmake_files_of_frameworks_name_all_sources(
    library: Path, stand_in: str, folder: str, tmp_path: Path
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        f"{stand_in}\nset(ZEPHYR_CURRENT_MODULE_DIR {library})\nadd_subdirectory({library}/{folder} part)\n"
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build")
    archives = list((tmp_path / "build").rglob("libcomponent.a"))
    assert len(archives) == 1
    members = run("ar", "t", archives[0]).split()
    assert {name.split(".")[0] for name in members} == {s.stem for s in sources(library)}
    module = (library / "zephyr/module.yml").read_text()
    assert module == 'name: "arenite_models"\nbuild:\n  cmake: zephyr\n  kconfig: zephyr/Kconfig\n'
    assert "config ARENITE_MODELS\n" in (library / "zephyr/Kconfig").read_text()


def test_platformio_packs_a_library(library: Path, tmp_path: Path) -> None:
    """PlatformIO's packer reads the manifest."""
    target = tmp_path / "models.tar.gz"
    run(sys.executable, "-m", "platformio", "pkg", "pack", library, "-o", target)
    with tarfile.open(target) as packed:
        names = set(packed.getnames())
    assert {"library.json", "src/small_model.h", "src/arenite_arena.c"} <= names
    manifest = json.loads((library / "library.json").read_text())
    assert (manifest["name"], manifest["build"]["srcDir"]) == ("models", "src")


@pytest.mark.slow
def test_the_arduino_sketch_gives_the_bytes_of_litert(
    library: Path, models: dict[str, Prepared], tmp_path: Path
) -> None:
    properties = dict(
        line.split("=", 1) for line in (library / "library.properties").read_text().splitlines()
    )
    assert properties["name"] == "models"
    assert all((library / "src" / header).is_file() for header in properties["includes"].split(","))
    (tmp_path / "objects").mkdir()
    subprocess.run(["gcc", "-Os", "-c", *map(str, sources(library))], check=True, cwd=tmp_path / "objects")
    sketch = library / "examples/Inference/Inference.ino"
    compile_for_this_computer(
        [
            "-std=c++11",
            "-Wall",
            "-Wextra",
            "-Werror",
            *flags(ARDUINO, library / "src"),
            "-include",
            "Arduino.h",
            "-x",
            "c++",
            sketch,
            "-x",
            "none",
            ARDUINO / "core.cpp",
            *(tmp_path / "objects").glob("*.o"),
            "-o",
            tmp_path / "device",
        ],
        "g++",
    )
    turns = ModelTurns(models, 2)
    device_end, host_end = pty.openpty()
    tty.setraw(host_end)
    process = subprocess.Popen([str(tmp_path / "device"), str(device_end)], pass_fds=[device_end])
    try:
        with SerialTransport(os.ttyname(host_end)) as line:
            line.write(b"".join(turns.inputs))
            received, deadline = b"", time.monotonic() + 60
            while received.count(b"\n") < len(turns.outputs) and time.monotonic() < deadline:
                received += line.read(1.0)
    finally:
        process.kill()
        process.wait()
        os.close(device_end)
        os.close(host_end)
    assert numbers(received.decode()) == turns.outputs
