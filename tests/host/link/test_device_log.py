"""Tests of ``arenite monitor --log`` with firmware in an emulator: new entries, resets, and firmware without a log."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from arenite.errors import DeviceError
from arenite.firmware.generator.features import Features
from arenite.host.cli.main import main
from arenite.host.emulator.machine import start
from arenite.host.link.client import HealthUnavailableError
from arenite.host.link.device_log import follow
from arenite.host.link.line_log import LogLine
from arenite.profiles.boards import load_board
from tests.host.link.device_reset import reset
from tests.session_builds import ToyFirmware

pytestmark = pytest.mark.qemu
BOARD = load_board("qemu_mps2_an386")


@pytest.fixture(scope="module")
def elf(toy_firmware: ToyFirmware) -> Path:
    return toy_firmware(BOARD.name, features=Features(health=True))


def until(lines: list[LogLine], word: str) -> None:
    """Wait until a line contains ``word``."""
    end = time.monotonic() + 60
    while not any(word in f"{line.event} {line.text}" for line in lines):
        assert time.monotonic() < end, lines
        time.sleep(0.02)


def test_the_log_is_followed_across_a_reset(elf: Path) -> None:
    lines: list[LogLine] = []
    stop = threading.Event()
    with start(BOARD, elf) as machine:

        def run() -> None:
            for line in follow(lambda: machine.port, 115200, stop=stop.is_set, every_s=0.1):
                lines.append(line)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        until(lines, "start 1 by power-on")
        until(lines, "started because of power-on")
        reset(machine)
        until(lines, "start 2")
        time.sleep(0.4)
        stop.set()
        thread.join(60)
    assert not thread.is_alive()
    assert lines[0].event == "connected"
    entries = [line.text for line in lines if not line.event]
    assert len(entries) == len(set(entries)), "an entry was shown twice"
    assert [text.partition(",")[0] for text in entries if "started because" in text] == ["start 1", "start 2"]
    assert sum("start 2 by" in line.text for line in lines if line.event == "health") == 1


def test_the_command_prints_the_log_once(elf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with start(BOARD, elf) as machine:
        assert main(["monitor", machine.port, "--log", "--seconds", "0", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["event"] for row in rows] == ["connected", "health", None]
    assert "guard words damaged" in rows[1]["text"] and "power-on" in rows[2]["text"]


def test_firmware_without_a_log_raises_an_error(toy_firmware: ToyFirmware) -> None:
    with start(BOARD, toy_firmware(BOARD.name)) as machine, pytest.raises(HealthUnavailableError) as caught:
        list(follow(lambda: machine.port, 115200))
    assert "--health" in f"{caught.value}"


def test_a_silent_device_raises_an_error(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import pty

    near, far = pty.openpty()
    monkeypatch.setattr("arenite.host.link.client.DeviceClient.hello.__defaults__", (0.3,))
    with pytest.raises(DeviceError, match="No device answers"):
        list(follow(lambda: os.ttyname(far), 115200))
    os.close(near)
    os.close(far)
