"""For every real board, PlatformIO can read platformio.ini, and the sources compile for the board's core."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from arenite.errors import UsageError
from arenite.firmware.generator.features import Features
from arenite.firmware.generator.project import write_project
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.project import generate_project
from arenite.host.cli.firmware.firmware import firmware
from arenite.host.flash.build import build
from arenite.profiles.boards import Board, all_boards, load_board
from tests import toy_model
from tests.firmware.cross_compiler import arduino, cmake, compile_project, environment, have_compilers
from tests.host.small_graphs import classifier, save

REAL = [board.name for board in all_boards() if not board.emulated]
#: One board for each way in which a project is built, for tests that would take too long with every board.
KINDS = (
    *("nucleo_l4r5zi", "pico", "nodemcuv2", "esp32dev", "esp32-s3-devkitc-1-n8r8", "esp32-c6-devkitc-1"),
    *("frdm_kl25z", "hifive1-revb"),
)


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a folder for empty files that mark which sources compiled. All test processes share it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "compiled"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(save(classifier(), tmp_path_factory.mktemp("model") / "classifier.tflite"))


def generate(model: Prepared, board: Board, directory: Path, protocol: str = "arenite") -> Path:
    """Generate a project for ``board`` and return its folder."""
    generate_project(model, board, directory / "project", BuildOptions("speed", protocol=protocol))
    return directory / "project"


def check_environments(board: Board, project: Path, passed: Path) -> None:
    """Check that each environment of the project's board can be read, and that its sources compile."""
    recipes = []
    if board.platformio is None:
        assert "default_envs" not in (project / "platformio.ini").read_text()
        recipes.append(cmake(project, "zephyr"))
    else:
        options = environment(project, board.name)
        assert options["board"] == board.platformio.board
        assert options["platform"] == board.platformio.platform
        assert options["monitor_speed"] == board.uart.baud
        assert options["framework"] == [board.platformio.framework]
        if board.platformio.framework == "arduino":
            recipes.append(arduino(project, board, board.name))
        else:
            recipes.append(cmake(project, board.platformio.framework))
        if board.espressif is not None:
            name = f"{board.name}-espidf" if board.platformio.framework == "arduino" else board.name
            espidf = environment(project, name)
            assert espidf["framework"] == ["espidf"]
            assert espidf["board_build.partitions"] == "partitions.csv"
            assert espidf["board_upload.maximum_size"] == str(board.flash_bytes)
            recipes.append(cmake(project, "espidf"))
    for recipe in recipes:
        ports = [name for name in recipe.sources if name.startswith("src/port_")]
        assert any(recipe.framework in name for name in ports), recipe
        assert {"src/model.c", "src/weights.c", "src/main.c", "lib/agent/runtime.c"} <= set(recipe.sources)
        compile_project(project, board, recipe, passed)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", REAL)
def test_environments_are_readable_and_sources_compile(
    name: str, model: Prepared, tmp_path: Path, passed: Path
) -> None:
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("needs the cross compiler for its core")
    check_environments(board, generate(model, board, tmp_path), passed)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", KINDS)
def test_projects_with_the_mlperf_monitor_compile(
    name: str, model: Prepared, tmp_path: Path, passed: Path
) -> None:
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("needs the cross compiler for its core")
    check_environments(board, generate(model, board, tmp_path, "mlperf"), passed)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", KINDS)
def test_projects_with_all_features_compile(name: str, tmp_path: Path, passed: Path) -> None:
    """The features are health and, if the framework supports pins, a mark on a pin. The model is hand-written."""
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("needs the cross compiler for its core")
    zephyr = board.platformio is not None and board.platformio.framework == "zephyr"
    features = Features(health=True, mark=None if zephyr else "5")
    project = write_project(tmp_path / "project", toy_model.sources(), [], board, features=features)
    check_environments(board, project, passed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nucleo_l4r5zi", "esp32-s3-devkitc-1-n8r8", "frdm_k64f", "nrf5340dk"])
def test_the_platformio_command_reads_the_project(name: str, model: Prepared, tmp_path: Path) -> None:
    """The command needs no network."""
    board = load_board(name)
    project = generate(model, board, tmp_path)
    command = [sys.executable, "-m", "platformio", "project", "config", "-d", str(project)]
    output = subprocess.run([*command, "--json-output"], check=True, capture_output=True, text=True).stdout
    sections = dict(json.loads(output))
    lint = subprocess.run([*command, "--lint"], capture_output=True, text=True)
    assert lint.returncode == 0, lint.stdout
    if board.platformio is None:
        assert f"env:{name}" not in sections
        return
    environment_options = dict(sections[f"env:{name}"])
    assert (environment_options["board"], environment_options["framework"]) == (
        board.platformio.board,
        [board.platformio.framework],
    )
    arduino_boards = [
        board.name for board in all_boards() if board.platformio and board.platformio.framework == "arduino"
    ]
    assert {f"env:{board}" for board in arduino_boards} <= set(sections)


def test_building_for_a_board_that_platformio_lacks_is_an_error(model: Prepared, tmp_path: Path) -> None:
    project = generate(model, load_board("nrf5340dk"), tmp_path)
    with pytest.raises(UsageError, match="Zephyr builds its firmware") as caught:
        build(project)
    assert f"west build -b nrf5340dk/nrf5340/cpuapp {project}/zephyr" in caught.value.hint


def test_a_mark_is_refused_if_the_port_has_no_pins(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Arenite's code for Zephyr has no function that sets a pin"):
        write_project(
            tmp_path / "p", toy_model.sources(), [], load_board("frdm_k64f"), features=Features(mark="5")
        )
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(("optimise", "level", "removed"), [("speed", "-O2", "-Os"), ("flash", "-Os", "-O2")])
def test_arduino_builds_use_the_flags_with_which_the_kernels_were_tested(
    optimise: str, level: str, removed: str, tmp_path: Path
) -> None:
    """Arduino cores set their own level, -Os for most boards."""
    project = write_project(
        tmp_path / "p", toy_model.sources(), [], load_board("nucleo_l4r5zi"), optimise=optimise
    )
    for name in ("nucleo_l4r5zi", "pico", "esp32dev", "nodemcuv2"):
        options = environment(project, name)
        flags = " ".join(options["build_flags"]).split()  # type: ignore[arg-type]
        assert [flag for flag in flags if flag.startswith("-O")] == [level]
        assert "-fno-strict-overflow" in flags
        unflags = " ".join(options["build_unflags"]).split()  # type: ignore[arg-type]
        assert removed in unflags and level not in unflags


def test_every_framework_of_a_profile_has_a_port() -> None:
    """Arenite has ports to these three frameworks. A project for a fourth one would be generated without a port."""
    frameworks = {board.platformio.framework for board in all_boards() if board.platformio}
    assert frameworks == {"arduino", "espidf", "zephyr"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("esp32-c3-devkitm-1", ["Next: arenite build {}", "  or: idf.py -C {} set-target esp32c3 &&"]),
        ("nucleo_l4r5zi", ["Next: arenite build {}"]),
        ("nrf5340dk", ["Next: west build -b nrf5340dk/nrf5340/cpuapp {}/zephyr && west flash"]),
        ("tb_sense_12", ["Next: arenite build {}", "  or: west build -b sltb004a {}/zephyr && west flash"]),
        ("qemu_riscv32", ["Next: arenite build {}"]),
    ],
)
def test_the_command_prints_what_to_run_next(name: str, expected: list[str], tmp_path: Path) -> None:
    image = save(classifier(), tmp_path / "classifier.tflite")
    directory = tmp_path / "project"
    result = CliRunner().invoke(firmware, [str(image), "--board", name, "-o", str(directory)])
    assert result.exit_code == 0, result.output
    lines = [line for line in result.output.splitlines() if line.startswith(("Next:", "  or:"))]
    assert len(lines) == len(expected)
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(start.format(directory))
