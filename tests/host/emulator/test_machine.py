"""Tests of starting emulators, and of the errors if the start fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.errors import ToolError, UsageError
from arenite.host.emulator.machine import command_line, start
from arenite.host.link.client import DeviceClient
from arenite.profiles.boards import load_board
from tests.session_builds import ToyFirmware

BOARD = load_board("qemu_mps2_an386")


@pytest.fixture(scope="module")
def elf(toy_firmware: ToyFirmware) -> Path:
    return toy_firmware(BOARD.name)


@pytest.mark.qemu
def test_the_emulator_ends_with_its_parent_process(elf: Path) -> None:
    program = f"""
import time
from pathlib import Path
from arenite.host.emulator.machine import start
from arenite.profiles.boards import load_board
with start(load_board({BOARD.name!r}), Path({str(elf)!r})) as machine:
    print(machine.process.pid, flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        emulator = Path("/proc") / child.stdout.readline().strip()
        assert (emulator / "exe").exists()
        child.kill()
    end = time.monotonic() + 60
    while (emulator / "exe").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not (emulator / "exe").exists()


@pytest.mark.qemu
def test_the_emulator_starts_fast_and_is_stopped(elf: Path) -> None:
    start_s = time.monotonic()
    with start(BOARD, elf) as machine:
        assert DeviceClient(machine.transport).hello().model == "toy"
        assert time.monotonic() - start_s < 30  # it takes 0.2 s, but more on a busy computer
        process, port = machine.process, Path(machine.port)
        created_ns = port.stat().st_ctime_ns
    assert process.poll() is not None
    # Another program may get the name of the terminal at once.
    assert not port.exists() or port.stat().st_ctime_ns > created_ns


@pytest.mark.qemu
def test_the_emulator_is_stopped_after_an_error(elf: Path) -> None:
    process = None
    with pytest.raises(RuntimeError, match="mine"), start(BOARD, elf) as machine:
        process = machine.process
        raise RuntimeError("mine")
    assert process is not None and process.poll() is not None


@pytest.mark.qemu
def test_the_error_contains_the_message_of_qemu(elf: Path) -> None:
    assert BOARD.emulator is not None
    board = replace(BOARD, emulator=replace(BOARD.emulator, machine="mps2-an999"))
    with pytest.raises(ToolError, match=r"did not start: .*unsupported machine type"), start(board, elf):
        pass


def test_a_missing_emulator_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, package in [("qemu_mps2_an386", "qemu-system-arm"), ("qemu_riscv32", "qemu-system-misc")]:
        with pytest.raises(ToolError, match=r"qemu-system-\w+ is not installed") as caught:
            command_line(load_board(name), tmp_path / "x.elf")
        assert caught.value.hint == f"Install it: apt install {package}"


def test_a_real_board_is_not_emulated(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a real board"):
        command_line(load_board("nucleo_l4r5zi"), tmp_path / "x.elf")


@pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="needs QEMU")
def test_a_missing_image_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"), start(BOARD, tmp_path / "none.elf"):
        pass
