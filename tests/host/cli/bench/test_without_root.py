"""`arenite bench` with the compiler and the emulator that pip installs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.firmware.boards.cores import core_named
from arenite.firmware.boards.toolchains import ZIG, is_installed
from arenite.firmware.sizes.targets import ZIG_TARGETS
from arenite.host.emulator import unicorn_machine
from arenite.profiles.boards import load_board
from tests.host.small_graphs import classifier, save

BOARD = "qemu_mps2_an386"
#: Programs of every system that Arenite calls.
SYSTEM_PROGRAMS = ("rm", "sleep", "uname")
needs_both = pytest.mark.skipif(
    not unicorn_machine.is_installed() or not is_installed(core_named("cortex-m4f"), ZIG),
    reason="needs the Python packages ziglang and unicorn",
)


def arenite(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command on a computer without gcc and QEMU."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name in SYSTEM_PROGRAMS:
        if (program := shutil.which(name)) and not (programs / name).exists():
            (programs / name).symlink_to(program)
    command = [sys.executable, "-m", "arenite.host.cli.main", *map(str, arguments)]
    environment = {**os.environ, "PATH": str(programs)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder)


def bench(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run ``arenite bench`` on a small model with three samples, on a computer without gcc and QEMU."""
    model = save(classifier(), folder / "m.tflite")
    return arenite(folder, "bench", model, "--samples", 3, "--no-store", *arguments)


@needs_both
@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ZIG_TARGETS)
def test_a_bench_without_gcc_and_qemu_is_exact_and_names_its_compiler_and_emulator(
    board: str, tmp_path: Path
) -> None:
    done = bench(tmp_path, "--board", board, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["samples"]["bit_exact"] == result["samples"]["count"] == 3
    assert (result["build"]["toolchain"], result["build"]["emulator"]) == ("zig", "unicorn")
    assert "clang" in result["build"]["compiler"]
    notes = " ".join(result["notes"])
    assert "zig compiled the firmware, because" in notes and "Unicorn emulated the board, because" in notes
    flash, memory = result["flash"], result["memory"]
    assert (flash["weights"], flash["code"]) == (flash["predicted_weights"], flash["predicted_code"])
    assert (memory["arena"], memory["static"]) == (memory["predicted_arena"], memory["predicted_static"])
    assert 0 < memory["stack"] <= memory["predicted_stack"] and memory["stack_kind"] == "measured"
    assert result["inference"]["instructions"]["p50"] > 0


@needs_both
@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("options", [("--protocol", "mlperf"), ("--health",), ("--mark",), ("--copies", 2)])
def test_the_other_options_work_without_gcc_and_qemu(options: tuple[str, ...], tmp_path: Path) -> None:
    done = bench(tmp_path, "--board", BOARD, *options)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 bit-exact" in done.stdout
    assert "unicorn" in done.stdout and "clang" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--board", BOARD, "--toolchain", "gcc"), 3, "The compiler arm-none-eabi-gcc is missing."),
        (("--board", "qemu_mps3_an547"), 3, "zig does not build firmware for qemu_mps3_an547"),
        (("--board", "qemu_mps3_an547", "--toolchain", "zig"), 2, "no sizes were measured with it"),
        (
            ("--board", "nucleo_l4r5zi", "--port", "/dev/null", "--toolchain", "zig"),
            2,
            "PlatformIO builds it",
        ),
        (
            ("--board", BOARD, "--toolchain", "zig", "--emulator", "unicorn", "--port", "x"),
            2,
            "exclude each other",
        ),
    ],
)
@pytest.mark.slow
def test_the_error_names_the_program_or_option_that_is_missing_or_unsupported(
    arguments: tuple[str, ...], code: int, words: str, tmp_path: Path
) -> None:
    if "zig" in arguments and not is_installed(core_named("cortex-m4f"), ZIG):
        pytest.skip("needs the Python package ziglang")
    done = bench(tmp_path, *arguments)
    assert done.returncode == code, done.stderr
    assert words in " ".join(done.stderr.split()) and "Traceback" not in done.stderr


@needs_both
def test_the_error_says_that_unicorn_does_not_execute_helium(tmp_path: Path) -> None:
    compiler = tmp_path / "bin" / "arm-none-eabi-gcc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    done = bench(tmp_path, "--board", "qemu_mps3_an547", "--emulator", "unicorn")
    assert done.returncode == 2
    assert "it does not execute the Helium instructions" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_fit_names_the_toolchain_of_its_sizes(tmp_path: Path) -> None:
    model = save(classifier(), tmp_path / "m.tflite")
    sizes = {}
    for toolchain in ("gcc", "zig"):
        done = arenite(tmp_path, "fit", model, "--board", BOARD, "--toolchain", toolchain, "--json")
        (board,) = json.loads(done.stdout)["boards"]
        assert board["toolchain"] == toolchain
        sizes[toolchain] = board["flash"]["code"]
    assert sizes["gcc"] != sizes["zig"]
    table = arenite(tmp_path, "fit", model, "--toolchain", "zig")
    assert "Sizes were measured with zig." in " ".join(table.stdout.split())
    assert "nucleo" not in table.stdout and all(name in table.stdout for name in ZIG_TARGETS)
    assert load_board(BOARD).emulated


def test_shrink_refuses_zig(tmp_path: Path) -> None:
    model = save(classifier(), tmp_path / "m.tflite")
    done = arenite(tmp_path, "fit", model, "--board", BOARD, "--shrink", "--toolchain", "zig")
    assert done.returncode == 2 and "--shrink does not know the sizes" in done.stderr
