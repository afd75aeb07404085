"""The Arduino port, built with a stand-in core, serves a model over a real pseudo-terminal."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import tty
from pathlib import Path

import pytest

from arenite.firmware.generator.project import write_project
from arenite.host.link.client import DeviceClient
from arenite.host.link.transport import SerialTransport
from arenite.profiles.boards import load_board
from tests import toy_model
from tests.firmware.boards.arduino_compiler import compile_like_an_arduino_core

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")


@pytest.mark.slow
def test_the_arduino_port_serves_a_model(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", toy_model.sources(), [], load_board("qemu_mps2_an386"))
    program = compile_like_an_arduino_core(project, tmp_path)
    device_end, host_end = pty.openpty()
    tty.setraw(host_end)
    process = subprocess.Popen([str(program), str(device_end)], pass_fds=[device_end])
    try:
        with SerialTransport(os.ttyname(host_end)) as line:
            device = DeviceClient(line)
            info = device.connect(toy_model.HASH)
            assert (info.board, info.tick_hz) == ("stand_in", 1_000_000)
            samples = [bytes(range(8)), bytes(8)]
            outputs = []
            for sample in samples:
                device.write_input(0, sample)
                device.infer(fresh=False)
                outputs.append(device.read_output(0, 8))
            assert outputs == toy_model.expected(samples, fresh=False)
            memory = device.memory()
            assert memory.guards_damaged == 0
            assert 0 < memory.stack_used <= memory.stack_bytes
    finally:
        process.kill()
        process.wait()
        os.close(device_end)
        os.close(host_end)


def test_an_emulated_project_names_every_arduino_board(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", toy_model.sources(), [], load_board("qemu_mps2_an386"))
    text = (project / "platformio.ini").read_text()
    board = load_board("nucleo_l4r5zi")
    assert board.platformio is not None
    assert f"[env:{board.name}]\nplatform = {board.platformio.platform}\n" in text
    assert "default_envs = qemu_mps2_an386" in text
