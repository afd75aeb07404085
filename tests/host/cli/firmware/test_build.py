"""`arenite build`: what it says if there is nothing to build, or the program is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from arenite.firmware.boards.toolchains import is_compiler_installed
from arenite.host.flash import build as build_module
from tests.host.app.sound_models import sound_model
from tests.host.cli.conftest import Arenite


def test_a_folder_that_is_no_project_is_refused_with_both_commands(arenite: Arenite, tmp_path: Path) -> None:
    record = ("record", tmp_path, "--board", "qemu_mps2_an386", "-o", tmp_path / "data", "--play", "x.wav")
    for command in (("build", tmp_path), ("flash", tmp_path), record):
        arenite(*command).refused(2, "does not contain arenite.json", "`arenite app` or `arenite firmware`")
    arenite("build", tmp_path / "none").refused(
        2, "none does not exist", "`arenite app` or `arenite firmware`"
    )


def test_the_help_names_both_commands(arenite: Arenite) -> None:
    text = " ".join(arenite("build", "--help").out.split())
    assert "`arenite firmware` or `arenite app`" in text


@pytest.mark.skipif(not is_compiler_installed("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
def test_an_error_in_the_program_names_the_line_and_the_compiler(arenite: Arenite, tmp_path: Path) -> None:
    image, folder = sound_model(tmp_path / "ear.tflite").path, tmp_path / "app"
    assert arenite("app", image, "--board", "qemu_mps2_an386", "-o", folder).code == 0
    (folder / "src/main.c").write_text("int main(void) { return missing; }\n")
    run = arenite("build", folder)
    run.refused(3, "src/main.c:1", "'missing' undeclared", f"In {folder}, this shows all messages: ", "-c -o")
    assert "pio run" not in run.err


@pytest.mark.parametrize(("code", "tail"), [(1, "HTTPClientError:"), (0, "")])
def test_what_runs_is_told_before_platformio_starts(
    code: int,
    tail: str,
    arenite: Arenite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """PlatformIO may wait for the network for minutes."""
    image, folder = sound_model(tmp_path / "ear.tflite").path, tmp_path / "app"
    assert arenite("app", image, "--board", "nano33ble", "-o", folder).code == 0
    told: list[str] = []

    def platformio(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        told.append(capsys.readouterr().err)
        return subprocess.CompletedProcess(command, code, "", tail)

    monkeypatch.setattr(build_module, "run_command", platformio)
    run = arenite("build", folder)
    (before,) = told
    assert "Building with PlatformIO; the first build for a board downloads its tools, within 300 s" in before
    assert run.code == 3 and ("could not download" in run.err) == bool(code)
