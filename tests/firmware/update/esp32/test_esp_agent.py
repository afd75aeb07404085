"""The agent of a fleet in the program for an ESP32: its files, its sizes, and what it tells after a start."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from arenite.converters.graph.model import Model
from arenite.firmware.espidf.update_partitions import update_partitions
from arenite.host.interface.build import fit_boards
from arenite.host.update.agent_cost import ESP_FLASH_BYTES, agent_cost, has_agent, ram_bytes
from arenite.host.update.agent_shape import agent_shape
from arenite.host.update.device_agent import read_agent_state
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.esp_build import EspUpdate, build_esp_update
from arenite.host.update.keys import generate_key
from arenite.host.update.update_build import UpdateOptions
from arenite.profiles.boards import all_boards, load_board
from tests.firmware.agent import esp_sizes
from tests.firmware.agent.sizes import SHAPES
from tests.firmware.update.esp32.esp_agent import EspWithAgent
from tests.firmware.update.esp32.esp_board import BOARD, project_macros, reset_over_usb
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.host.small_graphs import CLASSES, classifier, float_edges, save
from tests.host.update.slot_board import SlotBoard

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
    pytest.mark.skipif(
        shutil.which("riscv64-unknown-elf-gcc") is None, reason="riscv64-unknown-elf-gcc is not installed"
    ),
]
PAGE = Path(__file__).parents[4] / "docs" / "fleet.md"
COMPILERS = ("riscv64-unknown-elf-gcc", "xtensa-lx106-elf-gcc")
CORES = [
    pytest.param(
        core,
        marks=pytest.mark.skipif(
            "xtensa" in core and shutil.which(COMPILERS[1]) is None, reason=f"{COMPILERS[1]} is not installed"
        ),
    )
    for core in ("rv32imc", "xtensa-lx106")
]
POWER_ON, PIN, SOFTWARE = 1, 2, 4


@pytest.fixture
def make(tmp_path: Path) -> Callable[[Model, bool], EspUpdate]:
    library_or_skip("ed25519")
    key = tmp_path / "release.pem"
    generate_key(key)

    def run(model: Model, agent: bool) -> EspUpdate:
        options = UpdateOptions(key, "1.0.0", optimise="flash", agent=agent)
        return build_esp_update(save(model, tmp_path / "model.tflite"), load_board(BOARD), options)

    return run


def test_the_agent_changes_the_firmware_but_not_the_abi(
    make: Callable[[Model, bool], EspUpdate], tmp_path: Path
) -> None:
    """A device may change between firmware with and without an agent, and keep its model."""
    plain, with_agent = make(classifier(), False), make(classifier(), True)
    assert plain.program.abi == with_agent.program.abi
    assert plain.program.data.payload == with_agent.program.data.payload
    project = tmp_path / "project"
    with_agent.write(project)
    assert {f"AR_AGENT_CLASSES={CLASSES}", "AR_AGENT_INPUT=1", "AR_AGENT"} < set(project_macros(project))
    added = set(with_agent.program.files) - set(plain.program.files)
    assert {Path(path).stem for path in added} == {
        *("agent_glue", "device_agent", "observations", "cause", "cause_port")
    }
    plain.write(project)
    assert "AR_AGENT" not in project_macros(project)
    assert not (project / "lib/update/agent_glue.c").exists()


def test_the_agent_counts_what_the_model_has(
    make: Callable[[Model, bool], EspUpdate], tmp_path: Path
) -> None:
    make(float_edges(), True).write(tmp_path / "project")
    assert {"AR_AGENT_CLASSES=0", "AR_AGENT_INPUT=0"} < set(project_macros(tmp_path / "project"))


@pytest.mark.parametrize("core", CORES)
def test_the_predicted_ram_is_that_of_the_compiled_objects(core: str) -> None:
    board = load_board(esp_sizes.ESP_BOARDS[core])
    for model in (classifier(), float_edges()):
        assert agent_cost(model, board).ram == esp_sizes.agent_sizes(core, agent_shape(model)).ram
    for shape in SHAPES:
        assert ram_bytes(shape) == esp_sizes.agent_sizes(core, shape).ram


def test_each_esp32_has_a_prediction() -> None:
    boards = [board for board in all_boards() if board.espressif is not None]
    assert len(boards) > 8
    for board in boards:
        assert has_agent(board)
        assert 1500 < agent_cost(classifier(), board).flash < 2500


@pytest.mark.skipif(shutil.which(COMPILERS[1]) is None, reason="xtensa-lx106-elf-gcc is not installed")
def test_the_sizes_are_those_of_the_page_and_of_the_prediction() -> None:
    page = PAGE.read_text("utf-8")
    for compiler in COMPILERS:
        command = [compiler, "-dumpversion"]
        version = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        if f"{compiler} {version}" not in page:
            pytest.skip(f"the figures are not those of {compiler} {version}")
    for row in esp_sizes.rows():
        assert row in page, row
    assert esp_sizes.flash_table() == ESP_FLASH_BYTES


def static_ram(elf: Path) -> int:
    """Return the bytes of all variables, as the symbols of the ELF tell them."""
    with elf.open("rb") as stream:
        file = ELFFile(stream)
        sections = {k for k, s in enumerate(file.iter_sections()) if s.name in (".noinit", ".data", ".bss")}
        table = file.get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection) and len(sections) == 3
        symbols = [symbol for symbol in table.iter_symbols() if symbol["st_shndx"] in sections]
        return sum(symbol["st_size"] for symbol in symbols)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.skipif(
    shutil.which("qemu-system-riscv32") is None, reason="qemu-system-riscv32 is not installed"
)
def test_the_program_has_the_predicted_ram_and_tells_why_it_started(tmp_path: Path) -> None:
    library_or_skip("ed25519")
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    made = EspWithAgent(tmp_path / "with", classifier())
    plain = EspWithAgent(tmp_path / "without", classifier(), agent=False)
    predicted = fit_boards(made.model, BOARD, agent=True).agents[BOARD].ram
    assert predicted == static_ram(made.elf) - static_ram(plain.elf)
    with made.run(made.flash) as machine:
        device = SlotBoard(machine.transport)
        link = DeviceLink(lambda: machine.transport, use_code=False)

        def check(cause: int, boot: int, inferences: int) -> None:
            state = read_agent_state(link)
            assert state is not None
            assert (state.cause, state.boot, state.inferences) == (cause, boot, inferences)

        device.read_until("self-test 3 samples passed")
        check(POWER_ON, 1, 0)
        device.send("infer 7")
        device.read_until("inference ")
        check(POWER_ON, 1, 1)
        reset_over_usb(machine)
        device.read_until("self-test 3 samples passed")
        check(PIN, 2, 0)
    model = next(p for p in update_partitions(load_board(BOARD)) if p.name == "model_0")
    flash = bytearray(made.flash)
    flash[model.offset : model.offset + model.size] = b"\xff" * model.size
    with made.run(bytes(flash)) as machine:
        device = SlotBoard(machine.transport)
        link = DeviceLink(lambda: machine.transport, use_code=False)
        device.read_until("self-test failed")
        device.send("infer 1")
        device.read_until("impossible: there is no model")
        check(POWER_ON, 1, 0)
