"""Arenite's firmware answers the commands of the official MLPerf Tiny runner, over a pseudo-terminal.

The commands and patterns below follow the protocol: the runner of github.com/mlcommons/tiny sends and expects them. If
``ARENITE_MLPERF_RUNNER`` names a copy of ``benchmark/runner``, which is not part of this project, its own device class
drives the same firmware.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import serial

from arenite.host.emulator.machine import start
from arenite.profiles.boards import load_board
from tests import toy_model
from tests.host.link.conftest import firmware  # noqa: F401  (a fixture)
from tests.host.link.faulty_transport import FaultyLine

pytestmark = pytest.mark.qemu
BOARD = "qemu_mps2_an386"
RUNNER = os.environ.get("ARENITE_MLPERF_RUNNER", "")
SAMPLE = bytes([250, 1, 2, 3, 4, 5, 6, 127])
Firmware = Callable[..., Path]


@contextmanager
def port(elf: Path) -> Iterator[str]:
    """Start the board; yield the name of its port, which is not open."""
    with start(load_board(BOARD), elf) as machine, FaultyLine(machine.transport) as line:
        yield line.port


class Runner:
    """Sends a command and ``%``, and reads complete lines until one contains ``m-ready``."""

    def __init__(self, name: str) -> None:
        self._port = serial.Serial(name, 115200, timeout=5)

    def command(self, text: str) -> list[str]:
        """Send a command. Return the lines of its answer without ``m-ready``."""
        self._port.write(text.encode() + b"%")
        lines: list[str] = []
        while not lines or "m-ready" not in lines[-1]:
            raw = self._port.readline()
            assert raw.endswith(b"\r\n"), f"silence after {lines}, {raw!r}"
            lines.append(raw.decode("ascii").rstrip("\r\n"))
        assert lines[-1] == "m-ready"
        return lines[:-1]

    def close(self) -> None:
        self._port.close()


def expected_results() -> str:
    """Return the toy model's outputs for ``SAMPLE`` as the monitor prints them."""
    values = [b - 256 if b > 127 else b for b in toy_model.expected([SAMPLE])[0]]
    return ",".join(f"{v}.000" for v in values)


def test_each_command_has_the_answer_that_the_official_runner_expects(firmware: Firmware) -> None:  # noqa: F811
    with port(firmware(BOARD, protocol="mlperf")) as name:
        runner = Runner(name)
        runner.command("")  # the % ends an incomplete earlier command
        assert runner.command("name") == [f"m-name-dut-[{BOARD}]"]
        profile, model = runner.command("profile")
        assert re.fullmatch(r"m-profile-\[[^]]+\]", profile)
        assert model == "m-model-[toy]"  # the runner chooses its script by this name
        (lap,) = runner.command("timestamp")
        assert re.fullmatch(r"m-lap-us-[0-9]+", lap)

        # Inputs are sent in parts of at most 31 bytes; "m-load-done" follows the last part.
        assert runner.command("db load 8") == ["m-[Expecting 8 bytes]"]
        assert runner.command("db " + SAMPLE[:5].hex()) == []
        assert runner.command("db " + SAMPLE[5:].hex().upper()) == ["m-load-done"]

        answer = runner.command("infer 3 2")
        assert answer[:3] == ["m-warmup-start-2", "m-warmup-done", "m-infer-start-3"]
        assert answer[5:] == ["m-infer-done", f"m-results-[{expected_results()}]"]
        first, last = (int(re.fullmatch(r"m-lap-us-([0-9]+)", s)[1]) for s in answer[3:5])  # type: ignore[index]
        assert last >= first >= int(lap.rpartition("-")[2])
        assert runner.command("results") == [f"m-results-[{expected_results()}]"]
        assert runner.command("infer 1 0")[0] == "m-warmup-start-0"
        assert runner.command("infer")[:3:2] == ["m-warmup-start-10", "m-infer-start-1"]
        assert all(s.startswith("e-[") for s in runner.command("no such thing"))
        assert runner.command("name") == [f"m-name-dut-[{BOARD}]"]  # the monitor still works after an error
        runner.close()


@pytest.fixture
def official(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the unchanged module with the official runner's device class."""
    if not RUNNER:
        pytest.skip("ARENITE_MLPERF_RUNNER names no copy of the official benchmark/runner")
    monkeypatch.syspath_prepend(RUNNER)
    for name in ("device_under_test", "serial_device", "interface_device"):
        sys.modules.pop(name, None)
    return importlib.import_module("device_under_test")


def test_the_official_device_class_drives_the_firmware(
    firmware: Firmware,  # noqa: F811
    official: Any,
) -> None:
    with port(firmware(BOARD, protocol="mlperf")) as name, official.DUT(name, 115200) as dut:
        assert (dut.get_name(), dut.get_model()) == (BOARD, "toy")
        assert dut.get_profile()
        assert dut.timestamp()[0].startswith("m-lap-us-")
        assert dut.load(SAMPLE) == ["m-load-done", "m-ready"]
        answer = dut.infer(2, 1)
        assert f"m-results-[{expected_results()}]" in answer
        assert sum(line.startswith("m-lap-us-") for line in answer) == 2
        assert dut.get_help()[-1] == "m-ready"


def test_the_official_device_class_drives_the_energy_mode(
    firmware: Firmware,  # noqa: F811
    official: Any,
) -> None:
    """In the energy mode the pin marks the times, so no line contains a time."""
    with port(firmware(BOARD, protocol="mlperf-energy")) as name, official.DUT(name, 9600) as dut:
        assert (dut.get_name(), dut.get_model()) == (BOARD, "toy")
        assert dut.timestamp() == "m-ready"
        assert dut.load(SAMPLE) == ["m-load-done", "m-ready"]
        answer = dut.infer(2, 1)
        assert answer[:4] == ["m-warmup-start-1", "m-warmup-done", "m-infer-start-2", "m-infer-done"]
        assert answer[4:] == [f"m-results-[{expected_results()}]", "m-ready"]
