"""Every real board: its platformio.ini is one that PlatformIO reads, and its sources compile for its core."""

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
#: One board for each way in which a project is built, for what costs more.
KINDS = (
    *("nucleo_l4r5zi", "pico", "nodemcuv2", "esp32dev", "esp32-s3-devkitc-1-n8r8", "esp32-c6-devkitc-1"),
    *("frdm_kl25z", "hifive1-revb"),
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder of this run of the tests, the same in all processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "compiled"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(save(classifier(), tmp_path_factory.mktemp("model") / "classifier.tflite"))


def generated(model: Prepared, board: Board, directory: Path, protocol: str = "arenite") -> Path:
    generate_project(model, board, directory / "project", BuildOptions("speed", protocol=protocol))
    return directory / "project"


def check(board: Board, project: Path, seen: Path) -> None:
    """Each environment of the project's own board parses, and compiles."""
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
        compile_project(project, board, recipe, seen)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", REAL)
def test_its_environments_parse_and_its_sources_compile(
    name: str, model: Prepared, tmp_path: Path, shared: Path
) -> None:
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("the cross compiler for its core is not here")
    check(board, generated(model, board, tmp_path), shared)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", KINDS)
def test_the_same_with_the_monitor_of_mlperf(
    name: str, model: Prepared, tmp_path: Path, shared: Path
) -> None:
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("the cross compiler for its core is not here")
    check(board, generated(model, board, tmp_path, "mlperf"), shared)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", KINDS)
def test_the_same_with_all_that_a_firmware_can_have(name: str, tmp_path: Path, shared: Path) -> None:
    """Health, and a mark on a pin where the framework has pins; on a model written by hand."""
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("the cross compiler for its core is not here")
    zephyr = board.platformio is not None and board.platformio.framework == "zephyr"
    features = Features(health=True, mark=None if zephyr else "5")
    project = write_project(tmp_path / "project", toy_model.sources(), [], board, features=features)
    check(board, project, shared)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nucleo_l4r5zi", "esp32-s3-devkitc-1-n8r8", "frdm_k64f", "nrf5340dk"])
def test_the_command_line_of_platformio_reads_it(name: str, model: Prepared, tmp_path: Path) -> None:
    """As a user would, without the network."""
    board = load_board(name)
    project = generated(model, board, tmp_path)
    command = [sys.executable, "-m", "platformio", "project", "config", "-d", str(project)]
    told = subprocess.run([*command, "--json-output"], check=True, capture_output=True, text=True).stdout
    sections = dict(json.loads(told))
    lint = subprocess.run([*command, "--lint"], capture_output=True, text=True)
    assert lint.returncode == 0, lint.stdout
    if board.platformio is None:
        assert f"env:{name}" not in sections
        return
    own = dict(sections[f"env:{name}"])
    assert (own["board"], own["framework"]) == (board.platformio.board, [board.platformio.framework])
    others = [
        other.name for other in all_boards() if other.platformio and other.platformio.framework == "arduino"
    ]
    assert {f"env:{other}" for other in others} <= set(sections)


def test_a_board_that_platformio_has_not_is_a_sentence(model: Prepared, tmp_path: Path) -> None:
    project = generated(model, load_board("nrf5340dk"), tmp_path)
    with pytest.raises(UsageError, match="Zephyr builds its firmware") as caught:
        build(project)
    assert f"west build -b nrf5340dk {project}/zephyr" in caught.value.hint


def test_a_mark_is_refused_where_the_port_knows_no_pins(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="its port for Zephyr has no function that sets a pin"):
        write_project(
            tmp_path / "p", toy_model.sources(), [], load_board("frdm_k64f"), features=Features(mark="5")
        )
    assert not (tmp_path / "p").exists()


def test_every_framework_of_a_profile_has_a_port() -> None:
    """Nothing in a project says that a port is missing."""
    frameworks = {board.platformio.framework for board in all_boards() if board.platformio}
    assert frameworks == {"arduino", "espidf", "zephyr"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("esp32-c3-devkitm-1", ["Next: arenite build {}", "  or: idf.py -C {} set-target esp32c3 &&"]),
        ("nucleo_l4r5zi", ["Next: arenite build {}"]),
        ("nrf5340dk", ["Next: west build -b nrf5340dk {}/zephyr && west flash"]),
        ("qemu_riscv32", ["Next: arenite build {}"]),
    ],
)
def test_the_command_says_what_to_run_next(name: str, words: list[str], tmp_path: Path) -> None:
    image = save(classifier(), tmp_path / "classifier.tflite")
    directory = tmp_path / "project"
    done = CliRunner().invoke(firmware, [str(image), "--board", name, "-o", str(directory)])
    assert done.exit_code == 0, done.output
    told = [line for line in done.output.splitlines() if line.startswith(("Next:", "  or:"))]
    assert len(told) == len(words)
    for line, start in zip(told, words, strict=True):
        assert line.startswith(start.format(directory))
