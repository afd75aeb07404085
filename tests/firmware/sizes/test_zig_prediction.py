"""Sizes predicted for zig equal those of the firmware that zig compiles and links, to the byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arenite.firmware.boards.cores import core_named
from arenite.firmware.boards.toolchains import ZIG, is_installed
from arenite.firmware.sizes.measure import compiler_version, digest
from arenite.firmware.sizes.prediction import size_table
from arenite.firmware.sizes.targets import SIZE_TARGETS, ZIG_TARGETS, size_file
from arenite.host.build.elf_sizes import read_elf
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.build.project import generate_project
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.firmware.sizes.mixed_model import MIXES, mix
from tests.host.small_graphs import classifier, save

#: Every other mix on every board, with both protocols and both levels of optimization. The tests with gcc build all.
BUILDS = [
    (board, name, ("arenite", "mlperf")[j % 2], ("flash", "balanced")[(j // 2 + k) % 2])
    for k, board in enumerate(ZIG_TARGETS)
    for j, name in enumerate(MIXES)
    if (j + k) % 2 == 0
]


def need_the_same_compiler(board: str) -> None:
    """Skip the test if the installed zig is not the version with which the sizes were measured."""
    core = SIZE_TARGETS[board].core
    if not is_installed(core_named(core), ZIG):
        pytest.skip("needs the Python package ziglang")
    stored, installed = json.loads(size_file(board, ZIG).read_text())["compiler"], compiler_version(core, ZIG)
    if stored != installed:
        pytest.skip(f"sizes were measured with {stored}, installed is {installed}")


@pytest.mark.parametrize("name", ZIG_TARGETS)
def test_the_stored_sizes_are_up_to_date(name: str) -> None:
    assert size_table(name, ZIG).digest == digest(ZIG), "C sources or flags have changed: run `make sizes`"


def assert_as_predicted(model: Path, board: str, folder: Path, optimise: str, protocol: str) -> None:
    """Build a project with zig, and check that the sizes of its firmware equal the prediction."""
    need_the_same_compiler(board)
    options = BuildOptions(optimise, protocol=protocol, toolchain=ZIG)
    project = generate_project(prepare(model), load_board(board), folder, options)
    predicted = project.prediction
    built = read_elf(direct_build(folder)).with_tables(predicted.tables_beside_weights)
    assert predicted.exact
    assert (predicted.arena, predicted.static, predicted.weights, predicted.code) == (
        built.arena,
        built.static,
        built.weights,
        built.code,
    )
    assert predicted.stack <= built.stack_reserved


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(("board", "name", "protocol", "optimise"), BUILDS)
def test_the_prediction_equals_the_linked_firmware(
    board: str, name: str, protocol: str, optimise: str, tmp_path: Path
) -> None:
    model = save(mix(name), tmp_path / "m.tflite")
    assert_as_predicted(model, board, tmp_path / "p", optimise, protocol)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("optimise", ["speed", "ram"])
def test_the_prediction_of_a_classifier_equals_the_linked_firmware(optimise: str, tmp_path: Path) -> None:
    model = save(classifier(), tmp_path / "m.tflite")
    assert_as_predicted(model, "qemu_mps2_an386", tmp_path / "p", optimise, "arenite")
