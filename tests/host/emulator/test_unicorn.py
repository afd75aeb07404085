"""Tests of boards in Unicorn: they give the same answers and count the same instructions as in QEMU."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arenite.errors import ToolError, UsageError
from arenite.firmware.generator.features import Features
from arenite.host.emulator import unicorn_machine
from arenite.host.emulator.emulator_choice import QEMU, UNICORN, choose_emulator, start_emulator
from arenite.host.emulator.unicorn_machine import FAMILIES, describe, start_unicorn, unsupported_reason
from arenite.host.link.client import DeviceClient, DeviceRestartedError
from arenite.host.link.transport import PortGoneError
from arenite.profiles.boards import all_boards, load_board
from tests import toy_model
from tests.session_builds import ToyFirmware

BOARD = load_board("qemu_mps2_an386")
#: Maps a board that Unicorn emulates to the largest difference between its times and those of QEMU, in ticks. In QEMU,
#: the timers of some boards round each reading at another fraction of a tick.
BOARDS = {
    "qemu_microbit": 1,
    "qemu_mps2_m0": 1,
    "qemu_mps2_an385": 1,
    "qemu_mps2_an386": 1,
    "qemu_mps2_an505": 1,
    "qemu_mps2_an500": 1,
    "qemu_netduinoplus2": 1,
    "qemu_riscv32": 0,
}
needs_unicorn = pytest.mark.skipif(
    not unicorn_machine.is_installed(), reason="needs the Python package unicorn"
)


def test_the_package_does_not_load_unicorn() -> None:
    program = (
        "import sys, arenite.host.cli.bench.bench\n"
        "from arenite.host.emulator.unicorn_machine import is_installed\n"
        "is_installed()\n"
        "sys.exit('unicorn' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_program_loads_only_unicorn_and_the_standard_library() -> None:
    text = unicorn_machine.PROGRAM.read_text("utf-8")
    assert "SPDX-License-Identifier: MIT" in text.splitlines()[0]
    assert "import arenite" not in text and "from arenite" not in text


def test_unsupported_boards_are_refused_with_a_reason() -> None:
    reasons = {board.name: unsupported_reason(board) for board in all_boards() if board.emulated}
    assert {name for name, reason in reasons.items() if reason is None} == {*BOARDS}
    assert "Helium" in str(reasons["qemu_mps3_an547"])
    for name, reason in reasons.items():
        if reason is not None:
            with pytest.raises(UsageError, match=reason):
                choose_emulator(load_board(name), UNICORN)
            with pytest.raises(UsageError, match=reason):
                describe(load_board(name), Path("firmware.elf"))
    assert {board.emulator.family for name in BOARDS if (board := load_board(name)).emulator} == {*FAMILIES}


def test_a_real_board_has_no_emulator() -> None:
    with pytest.raises(UsageError, match="real board"):
        choose_emulator(load_board("nucleo_l4r5zi"), UNICORN)


def test_the_choice_of_an_emulator_has_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="qemu-system-arm is not installed"):
        choose_emulator(BOARD, QEMU)
    with pytest.raises(ToolError, match="Unicorn cannot replace it: it does not execute the Helium"):
        choose_emulator(load_board("qemu_mps3_an547"), None)
    if not unicorn_machine.is_installed():
        with pytest.raises(ToolError, match="qemu-system-arm is not installed") as raised:
            choose_emulator(BOARD, None)
        assert "arenite[bench]" in raised.value.hint
        return
    emulator, reason = choose_emulator(BOARD, None)
    assert (
        emulator == UNICORN
        and reason == "Unicorn emulated the board, because qemu-system-arm is not installed."
    )
    program = tmp_path / "qemu-system-arm"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert choose_emulator(BOARD, None) == (QEMU, None)
    assert choose_emulator(BOARD, UNICORN) == (UNICORN, None)


@needs_unicorn
def test_a_missing_or_damaged_firmware_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"), start_unicorn(BOARD, tmp_path / "none.elf"):
        pass
    (tmp_path / "text.elf").write_text("text")
    with pytest.raises(ToolError, match="Cannot read"), start_unicorn(BOARD, tmp_path / "text.elf"):
        pass


@needs_unicorn
@pytest.mark.qemu
@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.slow
def test_answers_and_ticks_are_those_of_qemu(toy_firmware: ToyFirmware, name: str) -> None:
    board = load_board(name)
    if board.emulator is None or shutil.which(f"qemu-system-{board.emulator.system}") is None:
        pytest.skip("needs QEMU")
    inputs = [bytes((k * j) % 256 for j in range(8)) for k in range(1, 6)]
    answers: dict[str, list[bytes]] = {}
    ticks: dict[str, list[int]] = {}
    stacks = set()
    for emulator in (QEMU, UNICORN):
        with start_emulator(board, toy_firmware(name), emulator) as machine:
            client = DeviceClient(machine.transport)
            client.connect(toy_model.HASH)
            answers[emulator], ticks[emulator] = [], []
            for sample in inputs:
                client.write_input(0, sample)
                ticks[emulator].append(client.infer().total)
                answers[emulator].append(client.read_output(0, 8))
            memory = client.memory()
            stacks.add((memory.stack_used, memory.guards_damaged, memory.started_by))
    assert answers[UNICORN] == answers[QEMU] == toy_model.expected(inputs)
    assert ticks[QEMU][0] > 0
    differences = [abs(a - b) for a, b in zip(ticks[QEMU], ticks[UNICORN], strict=True)]
    assert max(differences) <= BOARDS[name], differences
    assert len(stacks) == 1


@needs_unicorn
@pytest.mark.qemu
@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.slow
def test_a_fault_restarts_the_board(toy_firmware: ToyFirmware, name: str) -> None:
    extra = "if (AT(0)[0] == 1) *(volatile uint32_t *)0xF0000000u = 1;"
    with start_unicorn(load_board(name), toy_firmware(name, extra)) as machine:
        client = DeviceClient(machine.transport)
        client.connect(toy_model.HASH)
        client.write_input(0, bytes([1] * 8))
        with pytest.raises(DeviceRestartedError) as raised:
            client.infer()
        assert raised.value.by_fault
        client.connect(toy_model.HASH)
        assert client.memory().started_by.startswith("a fault")
        client.write_input(0, bytes(8))
        client.infer()


#: C code in the last layer of the toy model: the first byte of the input selects the fault.
FAULTS = """
    if (AT(0)[0] == 1) __builtin_trap();
    if (AT(0)[0] == 2) *(volatile uint32_t *)0xE8000000u = 1;
    if (AT(0)[0] == 3) AT(0)[1] = (uint8_t)*(volatile uint32_t *)0xE8000000u;
"""


@needs_unicorn
@pytest.mark.qemu
@pytest.mark.parametrize("name", ["qemu_microbit", "qemu_mps2_an386", "qemu_mps2_an505", "qemu_riscv32"])
@pytest.mark.slow
def test_the_log_of_faults_is_that_of_qemu(toy_firmware: ToyFirmware, name: str) -> None:
    board, elf = load_board(name), toy_firmware(name, FAULTS, features=Features(health=True))
    if board.emulator is None or shutil.which(f"qemu-system-{board.emulator.system}") is None:
        pytest.skip("needs QEMU")
    logs = {}
    for emulator in (QEMU, UNICORN):
        with start_emulator(board, elf, emulator) as machine:
            client = DeviceClient(machine.transport, resend_s=0.3)
            client.connect(toy_model.HASH)
            for fault in (1, 2, 3):
                client.write_input(0, bytes([fault] * 8))
                with pytest.raises(DeviceRestartedError):
                    client.infer()
                client.connect(toy_model.HASH)
            logs[emulator] = [entry.text for entry in client.log()]
    assert len(logs[QEMU]) >= 6
    assert logs[UNICORN] == logs[QEMU]


@needs_unicorn
@pytest.mark.qemu
def test_the_program_ends_with_its_parent(toy_firmware: ToyFirmware) -> None:
    program = f"""
import os, time
from pathlib import Path
from arenite.host.emulator.unicorn_machine import start_unicorn
from arenite.profiles.boards import load_board
with start_unicorn(load_board({BOARD.name!r}), Path({str(toy_firmware(BOARD.name))!r})) as machine:
    print(machine.transport._process.pid, flush=True)
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


@needs_unicorn
@pytest.mark.qemu
def test_an_emulator_that_ended_raises_an_error(toy_firmware: ToyFirmware) -> None:
    with start_unicorn(BOARD, toy_firmware(BOARD.name)) as machine:
        DeviceClient(machine.transport).connect(toy_model.HASH)
        machine.transport._process.kill()  # type: ignore[attr-defined]
        with pytest.raises(PortGoneError, match="in Unicorn has ended"):
            DeviceClient(machine.transport).connect(toy_model.HASH)
