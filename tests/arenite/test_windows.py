"""Arenite without what Python lacks on Windows. The workflow `tests` runs a bench on Windows itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.firmware.boards.toolchains import zig_program
from tests.host.small_graphs import classifier, save

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="imitates Windows")]


def run(*command: object, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.arenite.windows_process", *map(str, command)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def test_every_module_can_be_imported() -> None:
    result = run("import")
    assert result.returncode == 0, result.stdout
    assert int(result.stdout.split()[-2]) > 500


@pytest.mark.parametrize("command", [("doctor",), ("boards",)])
def test_commands_about_the_computer_work(command: tuple[str, ...]) -> None:
    result = run(*command, "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["schema"] == f"arenite.{command[0]}/1"


def test_the_camera_loop_works_and_a_missing_camera_is_refused(tmp_path: Path) -> None:
    model = save(classifier(), tmp_path / "small.tflite")
    result = run("camera", "--source", "synthetic", "--model", model, "--frames", 5, "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["frames"]["served"] == 5
    result = run("camera", "--source", "97", "--model", model, "--frames", 5)
    assert result.returncode == 2 and "There is no camera /dev/video97." in result.stderr


@pytest.mark.skipif(zig_program() is None, reason="needs ziglang")
def test_a_bench_with_zig_and_unicorn_is_bit_exact(tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="needs unicorn")
    model = save(classifier(), tmp_path / "small.tflite")
    options = ("--board", "qemu_mps2_an386", "--toolchain", "zig", "--emulator", "unicorn", "--samples", 2)
    result = run("bench", model, *options, "--no-store", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["samples"]["bit_exact"] == 2
