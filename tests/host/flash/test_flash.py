"""Uploading: the right command for each board, and its failure as a sentence."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.converters.errors import DeviceError, ToolError, UsageError
from arenite.firmware.generator.project import write_project
from arenite.host.flash.build import direct_build
from arenite.host.flash.flash import UPLOADERS, Upload, built_elf, flash, upload_command
from arenite.profiles.boards import load_board
from tests import toy_model


def project(directory: Path, board: str, **options: object) -> Path:
    return write_project(directory, toy_model.sources(), [], load_board(board), **options)  # type: ignore[arg-type]


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.qemu
@pytest.mark.parametrize("options", [{}, {"protocol": "mlperf", "input_bytes": 8}])
def test_flashing_an_emulated_board_starts_it(tmp_path: Path, options: dict[str, object]) -> None:
    directory = project(tmp_path / "p", "qemu_mps2_an386", **options)
    direct_build(directory)
    flash(directory, load_board("qemu_mps2_an386"))


def test_a_project_that_is_not_built_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not built"):
        built_elf(project(tmp_path / "p", "qemu_mps2_an386"))


@pytest.mark.parametrize("name", sorted(UPLOADERS))
def test_each_uploader_gets_image_and_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    board = replace(load_board("nucleo_l4r5zi"), upload_tools=(name,))
    upload = Upload(tmp_path, board, tmp_path / "firmware.elf", "/dev/ttyACM7")
    for program in ("st-flash", "openocd", "pyocd", "esptool"):
        tool(tmp_path, program, "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    command = " ".join(upload_command(upload))
    if name == "platformio":
        assert f"--project-dir {tmp_path} --environment nucleo_l4r5zi --target upload" in command
        assert "--upload-port /dev/ttyACM7" in command
    elif name == "stlink":
        assert f"write {tmp_path}/firmware.bin 0x8000000" in command
    elif name == "esptool":
        assert "--port /dev/ttyACM7" in command
    else:
        assert str(tmp_path / "firmware.elf") in command


def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    directory = project(tmp_path / "p", "nucleo_l4r5zi")
    elf = directory / ".pio/build/nucleo_l4r5zi/firmware.elf"
    elf.parent.mkdir(parents=True)
    elf.write_bytes(b"")
    tool(tmp_path, "st-flash", script)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return directory


def test_an_uploader_that_fails_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = prepared(tmp_path, monkeypatch, "echo 'Error: no ST-LINK found' >&2; exit 1")
    with pytest.raises(DeviceError, match="Uploading to nucleo_l4r5zi failed: Error: no ST-LINK found"):
        flash(directory, load_board("nucleo_l4r5zi"), tool="stlink")


def test_an_uploader_that_works_got_its_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = prepared(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/said')
    flash(directory, load_board("nucleo_l4r5zi"), tool="stlink")
    assert (tmp_path / "said").read_text().split()[:2] == ["--reset", "write"]


def test_an_uploader_that_is_missing_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = load_board("nucleo_l4r5zi")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="stlink is not installed") as caught:
        upload_command(Upload(tmp_path, board, tmp_path / "firmware.elf", None), "stlink")
    assert "apt install stlink-tools" in caught.value.hint


def test_a_tool_that_the_profile_does_not_list_is_refused(tmp_path: Path) -> None:
    board = replace(load_board("nucleo_l4r5zi"), upload_tools=("pyocd",))
    with pytest.raises(UsageError, match="is not uploaded with 'esptool'"):
        upload_command(Upload(tmp_path, board, tmp_path / "firmware.elf", None), "esptool")
