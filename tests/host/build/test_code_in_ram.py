"""Kernels that run from RAM give the same outputs, are in RAM, and their bytes are predicted."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from arenite.converters.graph.model import Model
from arenite.errors import DoesNotFitError, UsageError
from arenite.firmware.boards.code_in_ram import has_code_in_ram
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import random_samples
from arenite.host.bench.size_check import check_sizes
from arenite.host.build.fit import choose
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.project import generate_project
from arenite.host.cli.main import cli
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import Board, all_boards, load_board
from tests.converters.passes.loops.recurrent_models import quantized, recurrent_model
from tests.firmware.sizes.mixed_model import MIXES, mix
from tests.firmware.sizes.same_compiler import need_the_same_compiler
from tests.host.small_graphs import classifier, counter, save

IN_RAM = BuildOptions("speed", code_in_ram=True)
IN_FLASH = replace(IN_RAM, code_in_ram=False)
#: Every mix on cores with veneers of 16, of 8 and of no bytes, alternating between protocols, and between optimization
#: levels.
BUILDS = [
    (board, name, ("arenite", "mlperf")[(j + k) % 2], ("flash", "speed")[(j // 2 + k) % 2])
    for k, board in enumerate(("qemu_mps2_m0", "qemu_mps2_an386", "qemu_mps3_an547", "qemu_riscv32"))
    for j, name in enumerate(MIXES)
]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(save(classifier(), tmp_path_factory.mktemp("model") / "small.tflite"))


def functions(elf: Path) -> dict[str, int]:
    """Return the addresses of the functions of a firmware."""
    with elf.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        symbols = list(table.iter_symbols())
    return {s.name: s["st_value"] & ~1 for s in symbols if s["st_info"]["type"] == "STT_FUNC"}


def is_in_ram(board: Board, address: int) -> bool:
    return board.ram[0].origin <= address < board.ram[0].origin + board.ram[0].size


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", ["qemu_mps2_m0", "qemu_mps2_an386", "qemu_riscv32_smp2"])
def test_outputs_are_exact_and_kernels_are_in_ram(name: str, small: Prepared, tmp_path: Path) -> None:
    board = load_board(name)
    need_the_same_compiler(board)
    graph = small.model.main
    samples = random_samples([graph.tensors[i] for i in graph.inputs], 3)
    project, in_flash = tmp_path / "ram", tmp_path / "flash"
    result = bench(small, board, samples, BenchConfig(IN_RAM, keep=project, cycles=False), lambda *_: None)
    assert result.to_json()["samples"]["bit_exact"] == 3
    assert check_sizes(project).holds
    generate_project(small, board, in_flash, IN_FLASH)
    addresses = functions(next(project.glob(".pio/build/*/firmware.elf")))
    others = functions(direct_build(in_flash))
    kernels = {
        kernel
        for path in (project / "lib/arenite").glob("*.c")
        for kernel in re.findall(r"^\w[^\n;=]*\b(ar_\w+)\([^;]*?\)\n\{", path.read_text(), re.MULTILINE)
    }
    linked = kernels & set(addresses)
    assert len(linked) > 2 and linked == kernels & set(others)
    assert all(is_in_ram(board, addresses[kernel]) for kernel in linked)
    assert not any(is_in_ram(board, others[kernel]) for kernel in linked)
    # Start-up code and the agent stay in flash.
    assert not any(is_in_ram(board, addresses[function]) for function in ("ar_start", "main", "ar_infer"))


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(("board", "name", "protocol", "optimise"), BUILDS)
def test_flash_and_ram_are_as_predicted(
    board: str, name: str, protocol: str, optimise: str, tmp_path: Path
) -> None:
    check_prediction(
        mix(name), load_board(board), tmp_path, replace(IN_RAM, protocol=protocol, optimise=optimise)
    )


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_m0", "qemu_mps2_an386"])
@pytest.mark.parametrize(
    ("model", "options"),
    [
        (quantized(recurrent_model("gru"), "int8"), {}),
        (counter(), {"health": True}),
        (classifier(24, 8), {"optimise": "ram", "stream_input": True}),
        (classifier(24, 8), {"optimise": "ram", "mark": "0"}),
    ],
    ids=["loop", "state", "rows from the host", "rows"],
)
def test_other_ways_to_call_kernels_are_counted(
    board: str, model: Model, options: dict, tmp_path: Path
) -> None:
    """A loop, state variables, and segments of layers that run row by row."""
    check_prediction(model, load_board(board), tmp_path, replace(IN_RAM, **options))


def check_prediction(model: Model, board: Board, folder: Path, options: BuildOptions) -> None:
    """Build the firmware, and check that its sizes are those that were predicted."""
    need_the_same_compiler(board)
    project = generate_project(prepare(save(model, folder / "m.tflite")), board, folder / "p", options)
    direct_build(folder / "p")
    sizes = check_sizes(folder / "p")
    assert sizes.holds, sizes.figures
    assert project.prediction.code_in_ram > 0


def test_code_in_ram_is_counted_in_flash_and_in_ram(small: Prepared) -> None:
    for name in ("qemu_mps2_m0", "qemu_mps2_an386", "pico"):
        board = load_board(name)
        moved, plain = (choose(small, board, options).verdict.needs for options in (IN_RAM, IN_FLASH))
        assert plain.code_in_ram == 0 < moved.code_in_ram
        assert moved.ram == plain.ram + moved.code_in_ram
        # Flash keeps a copy of the kernels, and has veneers.
        assert plain.flash < moved.flash < plain.flash + 200


def test_a_board_with_too_little_ram_is_refused_in_words(small: Prepared, tmp_path: Path) -> None:
    board = load_board("qemu_mps2_m0")
    moved, plain = (choose(small, board, options).verdict.needs for options in (IN_RAM, IN_FLASH))
    size = plain.ram + 16
    tight = replace(board, ram=(replace(board.ram[0], size=size),))
    assert choose(small, tight, IN_FLASH).verdict.fits
    with pytest.raises(DoesNotFitError) as caught:
        generate_project(small, tight, tmp_path / "p", IN_RAM)
    assert not (tmp_path / "p").exists()
    message = str(caught.value)
    assert f"needs {moved.ram - size:,} B more SRAM (--code-in-ram takes {moved.code_in_ram:,} B)" in message
    # A build with less code in RAM may fit; otherwise the option itself is what to leave out.
    assert "try --optimise " in message or f"try without --code-in-ram (then {plain.ram:,} B)" in message


def test_commands_have_the_option(small: Prepared, tmp_path: Path) -> None:
    arguments = [str(small.path), "--board", "pico", "--optimise", "speed", "--code-in-ram", "--json"]
    fit = CliRunner().invoke(cli, ["fit", *arguments])
    assert fit.exit_code == 0, fit.output
    (verdict,) = json.loads(fit.stdout)["boards"]
    assert 0 < verdict["ram"]["code_in_ram"] < verdict["ram"]["static"]
    firmware = CliRunner().invoke(cli, ["firmware", *arguments, "-o", str(tmp_path / "p")])
    assert firmware.exit_code == 0, firmware.output
    assert json.loads(firmware.stdout)["predicted"]["ram_total"] == verdict["ram"]["needed"]
    manifest = json.loads((tmp_path / "p/arenite.json").read_text())
    assert manifest["predicted"]["code_in_ram"] == verdict["ram"]["code_in_ram"]


def test_fit_without_a_board_checks_those_that_have_code_in_ram(small: Prepared) -> None:
    fit = CliRunner().invoke(cli, ["fit", str(small.path), "--code-in-ram", "--json"])
    assert fit.exit_code == 0, fit.output
    names = [verdict["board"] for verdict in json.loads(fit.stdout)["boards"]]
    assert names == [board.name for board in all_boards() if has_code_in_ram(board)]
    refused = CliRunner().invoke(cli, ["fit", str(small.path), "--code-in-ram", "--board", "nucleo_l4r5zi"])
    assert isinstance(refused.exception, UsageError)
    assert "--code-in-ram is not for nucleo_l4r5zi" in str(refused.exception)
