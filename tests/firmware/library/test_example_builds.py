"""In the build files of a library and its examples, names do not clash, and the stack is large enough.

Zephyr, ESP-IDF, Pico SDK and NuttX are not installed: stand-ins define what the files use, as the documentation of the
frameworks describes it. ``tests/frameworks`` builds with the real ones.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from arenite.host.build.library import generate_library
from arenite.host.build.prepare import Prepared, prepare
from tests.firmware.library.libraries import PORTABLE, needs_cmake, numbers, run
from tests.host.small_graphs import classifier, float_edges, save


def library_named(name: str, models: dict[str, Prepared], folder: Path) -> Path:
    """Generate a library called ``name`` and return its folder."""
    generate_library(folder / name, name, {"small": models["small"]}, PORTABLE)
    return folder / name


@pytest.mark.parametrize("name", ["yes", "on", "no", "null", "test"])
def test_the_name_of_a_zephyr_module_is_text(name: str, models: dict[str, Prepared], tmp_path: Path) -> None:
    """YAML reads yes, on and no as booleans, and null as nothing."""
    module = yaml.safe_load((library_named(name, models, tmp_path) / "zephyr/module.yml").read_text())
    assert module["name"] == f"arenite_{name}"


@needs_cmake
@pytest.mark.slow
def test_names_of_libraries_do_not_clash_with_targets(models: dict[str, Prepared], tmp_path: Path) -> None:
    """CMake reserves ``test``; Zephyr defines ``app`` and ``kernel``."""
    added = ""
    for name in ("test", "app", "kernel", "all", "zephyr"):
        added += f"add_subdirectory({library_named(name, models, tmp_path)} library_{name})\n"
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(mine C)\ninclude(CTest)\n"
        f"add_library(kernel INTERFACE)\nadd_library(zephyr INTERFACE)\n{added}"
        f"add_executable(app {tmp_path}/test/examples/zephyr/src/main.c)\n"
        "target_link_libraries(app arenite_test)\n"
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build", "--target", "app")
    assert len(numbers(run(tmp_path / "build/app"))) == 1


def test_library_properties_have_the_url_that_arduino_requires(library: Path) -> None:
    lines = (library / "library.properties").read_text().splitlines()
    properties = dict(line.split("=", 1) for line in lines)
    assert all(properties.values()), "arduino-lint refuses empty fields"
    assert re.fullmatch(r"https://\S+", properties["url"])


def setting(path: Path, name: str) -> int:
    """Return the number that a Kconfig file assigns to ``name``."""
    match = re.search(rf"^(?:CONFIG_)?{name}=(\d+)$", path.read_text(), re.MULTILINE)
    assert match, path
    return int(match[1])


def test_the_examples_reserve_the_stack_of_an_inference_and_of_printf(library: Path) -> None:
    """An inference of this library needs up to 900 bytes on a RISC-V core, and Zephyr's default is 1024."""
    assert setting(library / "examples/zephyr/prj.conf", "MAIN_STACK_SIZE") >= 900 + 2048
    assert setting(library / "examples/esp_idf/sdkconfig.defaults", "ESP_MAIN_TASK_STACK_SIZE") >= 3584
    kconfig = (library / "examples/nuttx/Kconfig").read_text()
    match = re.search(r"_STACKSIZE\n.*\n\tdefault (\d+)", kconfig)
    assert match and int(match[1]) >= 900 + 2048


@pytest.mark.parametrize("float_output", [False, True])
def test_examples_that_print_real_numbers_ask_for_it(float_output: bool, tmp_path: Path) -> None:
    model = float_edges() if float_output else classifier()
    prepared = prepare(save(model, tmp_path / "m.tflite"))
    generate_library(tmp_path / "lib", "lib", {"m": prepared}, PORTABLE)
    text = (tmp_path / "lib/examples/zephyr/prj.conf").read_text()
    assert ("CONFIG_REQUIRES_FLOAT_PRINTF=y" in text) == float_output
    kconfig = (tmp_path / "lib/examples/nuttx/Kconfig").read_text()
    assert ("select LIBC_FLOATINGPOINT" in kconfig) == float_output


#: A stand-in for ESP-IDF's project.cmake. With MINIMAL_BUILD, only components that main requires are built.
_PROJECT_CMAKE = """
function(idf_build_set_property name value)
    set_property(GLOBAL PROPERTY idf_${name} ${value})
endfunction()
set(ESP_PLATFORM 1)
function(idf_component_register)
    cmake_parse_arguments(it "" "" "SRCS;INCLUDE_DIRS;PRIV_INCLUDE_DIRS;REQUIRES;PRIV_REQUIRES" ${ARGN})
    get_filename_component(name ${CMAKE_CURRENT_LIST_DIR} NAME)
    set(COMPONENT_LIB ${name} PARENT_SCOPE)
    add_library(${name} STATIC ${it_SRCS})
    target_include_directories(${name} PUBLIC ${it_INCLUDE_DIRS} PRIVATE ${it_PRIV_INCLUDE_DIRS})
    target_link_libraries(${name} PUBLIC ${it_REQUIRES} PRIVATE ${it_PRIV_REQUIRES})
endfunction()
macro(project name)
    _project(${name} C)
    get_property(minimal GLOBAL PROPERTY idf_MINIMAL_BUILD)
    if(NOT minimal)
        message(FATAL_ERROR "all components of ESP-IDF would be built")
    endif()
    foreach(folder ${EXTRA_COMPONENT_DIRS} main)
        get_filename_component(folder ${folder} ABSOLUTE)
        get_filename_component(folder_name ${folder} NAME)
        add_subdirectory(${folder} part_${folder_name})
    endforeach()
    file(WRITE ${CMAKE_BINARY_DIR}/entry.c "void app_main(void); int main(void) { app_main(); return 0; }")
    add_executable(${name} ${CMAKE_BINARY_DIR}/entry.c)
    target_link_libraries(${name} main)
endmacro()
"""


@pytest.mark.slow
@needs_cmake
def test_the_example_for_esp_idf_builds_only_what_it_requires(library: Path, tmp_path: Path) -> None:
    (tmp_path / "tools/cmake").mkdir(parents=True)
    (tmp_path / "tools/cmake/project.cmake").write_text(_PROJECT_CMAKE)
    build_example(library / "examples/esp_idf", tmp_path, IDF_PATH=str(tmp_path))
    assert len(numbers(run(tmp_path / "build/arenite_example"))) == 3


#: A stand-in for the Pico SDK's import file.
_PICO_SDK = """
macro(pico_sdk_init)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/sdk/pico)
    file(WRITE ${CMAKE_BINARY_DIR}/sdk/pico/stdlib.h
        "#include <stdlib.h>\n"
        "static inline int stdio_init_all(void) { return 1; }\n"
        "static inline void sleep_ms(unsigned ms) { static int turns; if (ms == 0 || ++turns == 2) exit(0); }\n")
    add_library(pico_stdlib INTERFACE)
    target_include_directories(pico_stdlib INTERFACE ${CMAKE_BINARY_DIR}/sdk)
endmacro()
function(pico_enable_stdio_usb target enabled)
    set_property(TARGET ${target} PROPERTY USB ${enabled})
endfunction()
function(pico_add_extra_outputs target)
    set_property(TARGET ${target} PROPERTY UF2 1)
endfunction()
"""


@pytest.mark.slow
@needs_cmake
def test_the_example_for_the_pico_sdk_builds(library: Path, tmp_path: Path) -> None:
    (tmp_path / "external").mkdir()
    (tmp_path / "external/pico_sdk_import.cmake").write_text(_PICO_SDK)
    build_example(library / "examples/pico", tmp_path, PICO_SDK_PATH=str(tmp_path))
    rows = numbers(run(tmp_path / "build/arenite_example"))
    assert len(rows) == 6, "the program repeats, so that a terminal that is opened later shows its output"
    assert rows[3:5] == rows[:2]


def build_example(example: Path, folder: Path, **variables: str) -> None:
    """Build an example with CMake in ``folder``/build. ``variables`` are added to the environment."""
    environment = {**os.environ, **variables}
    for command in (["-S", str(example), "-B", str(folder / "build")], ["--build", str(folder / "build")]):
        result = subprocess.run(["cmake", *command], env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr


#: A stand-in for Application.mk of nuttx-apps: objects beside the Makefile, sources along VPATH, and main() renamed
#: after the program.
_APPLICATION_MK = """
SUFFIX = .nuttx.o
VPATH += :.
COBJS = $(CSRCS:=$(SUFFIX))
MAINOBJ = $(MAINSRC:=$(SUFFIX))
all: $(COBJS) $(MAINOBJ)
\t$(AR) rcs $(APPDIR)/libapps.a $^
\t@echo "$(PROGNAME) $(PRIORITY) $(STACKSIZE) $(MODULE)" > $(APPDIR)/registered
$(COBJS): %.c$(SUFFIX): %.c
\t$(CC) -c -Wall -Wextra -Werror $(CFLAGS) $< -o $@
$(MAINOBJ): %.c$(SUFFIX): %.c
\t$(CC) -c -Wall -Wextra -Werror $(CFLAGS) -Dmain=$(PROGNAME)_main $< -o $@
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_example_for_nuttx_builds_in_the_tree_of_applications(library: Path, tmp_path: Path) -> None:
    apps = tmp_path / "apps"
    (apps / "examples").mkdir(parents=True)
    (apps / "examples/models").symlink_to(library / "examples/nuttx")
    config = (
        "CONFIG_ARENITE_MODELS=y\nCONFIG_ARENITE_MODELS_PRIORITY=100\nCONFIG_ARENITE_MODELS_STACKSIZE=4096\n"
    )
    (apps / "Make.defs").write_text(config)
    (apps / "Application.mk").write_text(_APPLICATION_MK)
    (apps / "list.mk").write_text(
        f"{config}include $(wildcard {apps}/examples/*/Make.defs)\nall:\n\t@echo $(CONFIGURED_APPS)\n"
    )
    assert run("make", "-s", "-f", apps / "list.mk").split() == [f"{apps}/examples/models"]
    run("make", "-C", apps / "examples/models", f"APPDIR={apps}")
    assert (apps / "registered").read_text().split() == ["arenite_models", "100", "4096", "y"]
    for name in library.glob("examples/nuttx/*.o"):
        name.unlink()
    (tmp_path / "entry.c").write_text(
        "int arenite_models_main(int, char **);\n"
        "int main(int n, char **v) { return arenite_models_main(n, v); }\n"
    )
    run("gcc", tmp_path / "entry.c", apps / "libapps.a", "-o", tmp_path / "it")
    assert len(numbers(run(tmp_path / "it"))) == 3
