"""Tests of the compilers' flags, and of the choice between gcc and zig."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arenite.errors import ToolError, UsageError
from arenite.firmware.boards.cores import core_named
from arenite.firmware.boards.toolchains import GCC, ZIG, ZIG_CORES, compiler_flags, is_installed
from arenite.firmware.sizes.targets import SIZE_TARGETS, ZIG_TARGETS, boards_of, require_toolchain
from arenite.host.build.fit import choose
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.build.project import generate_project
from arenite.host.build.toolchain_choice import choose_toolchain
from arenite.profiles.boards import load_board
from tests.host.small_graphs import classifier, save

BOARD = load_board("qemu_mps2_an386")


def test_zig_never_fuses_products_and_never_traps() -> None:
    for name in ZIG_CORES:
        flags = compiler_flags(core_named(name), ZIG).flags
        assert "-ffp-contract=off" in flags and "-fno-sanitize=undefined" in flags
        assert "-Werror" in flags and "-std=c99" in flags


def test_zig_supports_the_cores_of_its_boards_and_refuses_the_others() -> None:
    assert {SIZE_TARGETS[name].core for name in ZIG_TARGETS} == {*ZIG_CORES}
    for name in ("cortex-m0plus", "cortex-m4", "cortex-m55", "rv32imac", "xtensa-lx106"):
        with pytest.raises(UsageError, match=f"does not build for the core {name}"):
            compiler_flags(core_named(name), ZIG)


@pytest.mark.parametrize(
    ("board", "words"),
    [
        ("qemu_mps3_an547", "no sizes were measured with it"),
        ("qemu_xtensa_lx106", "no sizes were measured with it"),
        ("nucleo_l4r5zi", "PlatformIO builds it with another compiler"),
    ],
)
def test_the_error_for_a_board_that_zig_does_not_support_gives_the_reason(
    board: str, words: str, tmp_path: Path
) -> None:
    prepared = prepare(save(classifier(), tmp_path / "m.tflite"))
    with pytest.raises(UsageError, match=words):
        choose(prepared, load_board(board), BuildOptions(toolchain=ZIG))
    with pytest.raises(UsageError, match=words):
        generate_project(prepared, load_board(board), tmp_path / "p", BuildOptions(toolchain=ZIG))
    assert not (tmp_path / "p").exists()


def test_an_unknown_toolchain_is_refused() -> None:
    with pytest.raises(UsageError, match="'llvm' is not a toolchain"):
        require_toolchain(BOARD, "llvm")


def test_sizes_of_the_toolchains_are_not_mixed(tmp_path: Path) -> None:
    prepared = prepare(save(classifier(), tmp_path / "m.tflite"))
    by_toolchain = {
        t: choose(prepared, BOARD, BuildOptions("speed", toolchain=t)).verdict for t in (GCC, ZIG)
    }
    assert by_toolchain[GCC].needs.code != by_toolchain[ZIG].needs.code
    assert by_toolchain[GCC].needs.weights == by_toolchain[ZIG].needs.weights
    assert by_toolchain[ZIG].to_json()["toolchain"] == ZIG
    assert {board.name for board in boards_of(ZIG)} == {*ZIG_TARGETS}


def test_a_project_for_zig_has_no_files_of_platformio(tmp_path: Path) -> None:
    prepared = prepare(save(classifier(), tmp_path / "m.tflite"))
    generate_project(prepared, BOARD, tmp_path / "p", BuildOptions("speed", toolchain=ZIG))
    names = {path.name for path in (tmp_path / "p").iterdir()}
    assert "arenite.json" in names and not names & {"platformio.ini", "platform", ".piocore"}
    manifest = json.loads((tmp_path / "p/arenite.json").read_text())
    assert manifest["toolchain"] == ZIG and manifest["build"]["compiler"] == ZIG
    assert "arenite build ." in (tmp_path / "p/README.md").read_text()


def test_gcc_is_chosen_if_it_is_installed_and_zig_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiler = tmp_path / "arm-none-eabi-gcc"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert choose_toolchain(BOARD, None) == (GCC, None)
    compiler.unlink()
    with pytest.raises(ToolError, match="arm-none-eabi-gcc is missing"):
        choose_toolchain(BOARD, GCC)
    with pytest.raises(ToolError, match="zig does not build firmware for qemu_mps3_an547"):
        choose_toolchain(load_board("qemu_mps3_an547"), None)
    assert choose_toolchain(load_board("nucleo_l4r5zi"), None) == (GCC, None)
    if is_installed(core_named(BOARD.core), ZIG):
        toolchain, reason = choose_toolchain(BOARD, None)
        assert toolchain == ZIG
        assert reason == "zig compiled the firmware, because arm-none-eabi-gcc is not installed."
    else:
        with pytest.raises(ToolError, match="arm-none-eabi-gcc is missing") as raised:
            choose_toolchain(BOARD, None)
        assert "arenite[bench]" in raised.value.hint
