"""Models as data for an ESP32: the same constants from each compiler, the same ABI for each training, and a loader that
trusts nothing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from arenite.converters.graph.model import Model
from arenite.firmware.sources import ENGINE, UPDATE
from arenite.firmware.update.model_data import ModelData
from arenite.host.update.esp_build import EspUpdate, build_esp_update
from arenite.host.update.esp_factory import make_factory
from arenite.host.update.keys import generate_key
from arenite.host.update.update_build import UpdateOptions
from arenite.profiles.boards import load_board
from tests.firmware.update.esp32.esp_board import BOARD, build, idf_build, run
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, STRICT, library_or_skip
from tests.host.small_graphs import classifier, counter, float_edges, save, two_inputs
from tests.host.update.retrained_model import retrained, without_activation
from tests.host.update.slot_board import SlotBoard

pytestmark = [
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
    pytest.mark.skipif(
        shutil.which("riscv64-unknown-elf-gcc") is None, reason="riscv64-unknown-elf-gcc is not installed"
    ),
]
Made = Callable[..., EspUpdate]


@pytest.fixture
def make(tmp_path: Path) -> Made:
    library_or_skip("ed25519")
    generate_key(tmp_path / "release.pem")

    def run(model: Model, board: str = BOARD) -> EspUpdate:
        options = UpdateOptions(tmp_path / "release.pem", "1.0.0", optimise="flash")
        return build_esp_update(save(model, tmp_path / "model.tflite"), load_board(board), options)

    return run


def places(data: ModelData) -> tuple[object, ...]:
    return data.constants, data.functions, data.arena_bytes, data.fixed_bytes


def test_a_model_trained_again_has_the_abi_of_its_firmware_and_another_graph_has_not(make: Made) -> None:
    first, second, other = (
        make(classifier()),
        make(retrained(classifier(), 4)),
        make(without_activation(classifier())),
    )
    assert first.program.abi == second.program.abi != other.program.abi
    assert first.program.data.payload != second.program.data.payload
    assert first.program.files == second.program.files, "the firmware depends on the weights"


@pytest.mark.skipif(
    shutil.which("xtensa-lx106-elf-gcc") is None, reason="xtensa-lx106-elf-gcc is not installed"
)
@pytest.mark.parametrize("model", [classifier, counter, two_inputs])
def test_the_compilers_for_risc_v_and_xtensa_lay_out_the_same_constants(
    make: Made, model: Callable[[], Model]
) -> None:
    assert places(make(model()).program.data) == places(make(model(), "esp32dev").program.data)


def test_the_loader_refuses_or_survives_damaged_data(make: Made, tmp_path: Path) -> None:
    (tmp_path / "payload.bin").write_bytes(make(classifier()).program.data.payload)
    program = tmp_path / "load"
    sanitizers = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    sources = [Path(__file__).with_name("model_data_load.c"), UPDATE.path("model_data.c")]
    command = ["gcc", *STRICT, *sanitizers, *UPDATE.include_flags, *ENGINE.include_flags]
    subprocess.run([*command, *map(str, sources), "-o", str(program)], check=True)
    result = subprocess.run(
        [str(program), str(tmp_path / "payload.bin"), "20000"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert 500 < int(result.stdout) < 12000  # a changed weight is a valid model, a changed header is none


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.skipif(
    shutil.which("qemu-system-riscv32") is None, reason="qemu-system-riscv32 is not installed"
)
@pytest.mark.parametrize("model", [counter, two_inputs, float_edges])
def test_models_with_state_several_inputs_and_floats_pass_their_self_test(
    make: Made, model: Callable[[], Model], tmp_path: Path
) -> None:
    project = tmp_path / "project"
    make(model()).write(project)
    idf_build(project, b"\xe9 application")
    flash = make_factory(project, tmp_path / "release.pem", "1.0.0").flash
    (tmp_path / "elf").mkdir()
    with run(build(project, tmp_path / "elf"), flash, tmp_path) as machine:
        assert "update none" in SlotBoard(machine.transport).read_until("self-test 3 samples passed")
