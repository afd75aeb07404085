"""Tests of flashing: the choice of a tool, the check of the flashed board, and errors."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import DeviceError, ToolError, UsageError
from arenite.firmware.generator.project import write_project
from arenite.host.cli.main import main
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build, read_manifest
from arenite.host.flash.choose_uploader import UPLOADERS, choose
from arenite.host.flash.flash import built_elf, flash, upload_commands
from arenite.host.flash.upload import Upload
from arenite.host.flash.verify import Identity, compare
from arenite.profiles.boards import all_boards, load_board
from tests import toy_model
from tests.host.flash.projects import IMAGE_SHA256, built, project
from tests.host.link.usb_tree import UsbTree

NUCLEO = load_board("nucleo_l4r5zi")
HASH = IMAGE_SHA256[:16]


def write_tool(folder: Path, name: str, script: str) -> None:
    """Write an executable shell script that replaces the program ``name``."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def with_st_flash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """Put a program st-flash that runs ``script`` on the PATH. Return the folder of a built project."""
    write_tool(tmp_path, "st-flash", script)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return built(tmp_path / "p", "nucleo_l4r5zi")


@pytest.mark.qemu
@pytest.mark.parametrize("tool_name", ["emulator", "gdb", None])
@pytest.mark.parametrize("options", [{}, {"protocol": "mlperf", "input_bytes": 8}])
def test_flashing_an_emulated_board_starts_and_verifies_it(
    tmp_path: Path, options: dict[str, object], tool_name: str | None
) -> None:
    directory = project(tmp_path / "p", "qemu_mps2_an386", **options)
    direct_build(directory)
    result = flash(directory, load_board("qemu_mps2_an386"), tool=tool_name)
    assert result.verified and result.identity is not None
    assert result.identity.model == "toy"
    assert result.identity.model_hash == (HASH if not options else None)
    assert result.tool == (tool_name or "emulator")


@pytest.mark.qemu
def test_another_model_raises_an_error_with_both_hashes(tmp_path: Path) -> None:
    directory = project(tmp_path / "p", "qemu_mps2_an386", manifest={"image_sha256": "ab" * 32})
    direct_build(directory)
    with pytest.raises(DeviceError, match=f"it reports {HASH} .*'toy'.* has {'ab' * 8}"):
        flash(directory, load_board("qemu_mps2_an386"))


@pytest.mark.qemu
def test_a_real_board_is_verified_on_the_port_of_its_usb_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emulated board at the port reports that it is a Nucleo board. Everything else is the same as with a real
    board."""
    argument_file = tmp_path / "said"
    directory = with_st_flash(tmp_path, monkeypatch, f'echo "$@" > {argument_file}')
    tree = UsbTree(tmp_path / "root")
    serial = "066AFF123456"
    tree.plug("0483:374b", ("ttyACM0",), product="STM32 STLink", serial=serial)
    emulated_board = replace(load_board("qemu_mps2_an386"), name="nucleo_l4r5zi")
    elf = direct_build(write_project(tmp_path / "acting", toy_model.sources(), [], emulated_board))
    with start(emulated_board, elf) as machine:
        tree.link_port("ttyACM0", machine.port)
        result = flash(directory, NUCLEO, "auto", tool="stlink", root=tree.root)
        assert (result.tool, result.port, result.verified) == ("stlink", str(tree.root / "dev/ttyACM0"), True)
        assert result.identity == Identity("toy", HASH, "nucleo_l4r5zi")
        assert result.nbytes == 1000
        # The port belongs to the probe that flashes.
        assert argument_file.read_text().split()[:4] == ["--reset", "--serial", serial, "write"]
        manifest = directory / "arenite.json"
        manifest.write_text(json.dumps({**read_manifest(directory), "image_sha256": "cd" * 32}))
        with pytest.raises(DeviceError, match=f"it reports {HASH}"):
            flash(directory, NUCLEO, "auto", tool="stlink", root=tree.root)


def test_a_board_without_a_port_is_flashed_without_verification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = with_st_flash(tmp_path, monkeypatch, "exit 0")
    result = flash(directory, NUCLEO, tool="stlink", root=UsbTree(tmp_path / "root").root)
    assert result.verified is None and result.port is None
    assert "no USB device with a serial port" in result.note


def test_the_identity_of_the_device_is_compared() -> None:
    manifest: dict[str, Any] = {"image_sha256": IMAGE_SHA256, "board": "a", "model": {"name": "toy"}}
    assert compare(Identity("toy", HASH, "a"), manifest, "P")
    assert compare(Identity("toy", None, "a"), manifest, "P")
    assert not compare(Identity("toy", HASH, "a"), {"board": "a"}, "P")
    with pytest.raises(DeviceError, match="reports that it is b; the project is for a"):
        compare(Identity("toy", HASH, "b"), manifest, "P")
    with pytest.raises(DeviceError, match="runs the model 'boy', the project has 'toy'"):
        compare(Identity("boy", None, "a"), manifest, "P")


def test_a_project_that_is_not_built_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not built"):
        built_elf(project(tmp_path / "p", "qemu_mps2_an386"))


def test_a_failing_uploader_raises_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = with_st_flash(tmp_path, monkeypatch, "echo 'Error: the moon is full' >&2; exit 1")
    with pytest.raises(DeviceError, match="Uploading to nucleo_l4r5zi failed: Error: the moon is full"):
        flash(directory, NUCLEO, tool="stlink")


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("libusb: error [get_usbfs_fd] LIBUSB_ERROR_ACCESS", "No permission to use the USB device"),
        ("libusb: LIBUSB_ERROR_BUSY", "Another program uses the USB device"),
        ("ERROR common.c: unknown chip id! 0xdead", "does not find a supported chip"),
    ],
)
def test_known_failures_have_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str, sentence: str
) -> None:
    directory = with_st_flash(tmp_path, monkeypatch, f"echo '{message}' >&2; exit 1")
    with pytest.raises(DeviceError, match=sentence) as caught:
        flash(directory, NUCLEO, tool="stlink")
    assert caught.value.hint


def test_a_missing_uploader_raises_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="stlink is not installed") as caught:
        choose(NUCLEO, "stlink")
    assert "apt install stlink-tools" in caught.value.hint


def test_a_tool_that_the_profile_does_not_list_raises_an_error() -> None:
    with pytest.raises(UsageError, match="'esptool' cannot upload to"):
        choose(NUCLEO, "esptool")
    with pytest.raises(UsageError, match="'stlink' cannot upload to"):
        choose(load_board("qemu_microbit"), "stlink")


@pytest.mark.parametrize("board", [b for b in all_boards() if not b.emulated], ids=lambda b: b.name)
def test_every_tool_of_every_profile_has_a_command(tmp_path: Path, board: Any) -> None:
    directory = built(tmp_path / "p", board.name)
    elf = built_elf(directory)
    elf.with_suffix(".bin").write_bytes(b"\xe9" + bytes(100))
    for name in board.upload_tools:
        lines = UPLOADERS[name].describe(Upload(directory, board, elf, "/dev/ttyACM7", root=tmp_path))
        text = " ".join(lines)
        assert text and "None" not in text
        assert str(directory) in text, name


def test_an_emulated_board_has_no_port(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", "qemu_mps2_an386")
    with pytest.raises(UsageError, match="is emulated and does not have a port"):
        flash(directory, load_board("qemu_mps2_an386"), "/dev/ttyACM0")


@pytest.mark.parametrize(
    ("board", "tool", "options", "accepted_by"),
    [
        ("qemu_mps2_an386", None, {"probe": "066A"}, None),
        ("qemu_mps2_an386", None, {"extra": ["--x"]}, None),
        ("nucleo_l4r5zi", "platformio", {"probe": "066A"}, "stlink or openocd"),
        ("nucleo_l4r5zi", "stlink", {"probe": "066A", "extra": ["--freq=4M"]}, ""),
    ],
)
def test_unsupported_options_raise_an_error(
    tmp_path: Path, board: str, tool: str | None, options: dict[str, Any], accepted_by: str | None
) -> None:
    directory = built(tmp_path / "p", board)
    if accepted_by == "":
        (line,) = upload_commands(directory, load_board(board), tool=tool, **options)
        assert "066A" in line and "--freq=4M" in line
        return
    with pytest.raises(UsageError, match=f"'{tool or 'emulator'}' does not accept --") as caught:
        upload_commands(directory, load_board(board), tool=tool, **options)
    assert accepted_by is None or accepted_by in caught.value.hint
    with pytest.raises(UsageError, match="does not accept --"):
        flash(directory, load_board(board), tool=tool, **options)


def test_print_runs_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    directory = with_st_flash(tmp_path, monkeypatch, f"touch {tmp_path / 'ran'}")
    assert main(["flash", str(directory), "--tool", "stlink", "--print"]) == 0
    line = capsys.readouterr().out.strip()
    assert line.startswith("st-flash --reset write ") and line.endswith(" 0x8000000")
    assert Path(line.split()[3]).read_bytes() == bytes(range(250)) * 4
    assert main(["flash", str(directory), "--tool", "stlink", "--print", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["commands"] == [line]
    assert not (tmp_path / "ran").exists()


@pytest.mark.qemu
def test_the_json_of_a_flash_has_tool_board_model_and_bytes(tmp_path: Path, capsys: Any) -> None:
    directory = project(tmp_path / "p", "qemu_riscv32")
    elf = direct_build(directory)
    assert main(["flash", str(directory), "--tool", "gdb", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == "arenite.flash/1"
    assert (content["tool"], content["board"], content["model_hash"], content["verified"]) == (
        "gdb",
        "qemu_riscv32",
        HASH,
        True,
    )
    assert 1000 < content["bytes"] < elf.stat().st_size


def test_the_plan_of_an_emulated_board_is_the_command_line_of_qemu(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", "qemu_mps2_an386")
    board = load_board("qemu_mps2_an386")
    (line,) = upload_commands(directory, board)
    assert line.startswith("qemu-system-arm") and "-kernel" in line and "preconfig" not in line
    lines = upload_commands(directory, board, tool="gdb")
    assert "-S -gdb" in lines[0] and "-kernel" not in lines[0]
    assert lines[1].startswith("gdb-multiarch")
