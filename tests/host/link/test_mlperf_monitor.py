"""Tests of the MLPerf Tiny monitor on emulated boards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arenite.errors import DeviceError
from arenite.host.emulator.machine import start
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.profiles.boards import load_board
from tests import toy_model

pytestmark = pytest.mark.qemu
Firmware = Callable[..., Path]
BOARD = "qemu_mps2_an386"


@pytest.mark.parametrize("name", [BOARD, "qemu_microbit", "qemu_riscv32", "qemu_xtensa_lx106"])
def test_inputs_are_loaded_and_results_printed(firmware: Firmware, name: str) -> None:
    with start(load_board(name), firmware(name, protocol="mlperf")) as machine:
        monitor = MonitorClient(machine.transport)
        info = monitor.connect()
        assert (info.device, info.model) == (name, "toy")
        for sample in (bytes(range(8)), b"\xfe\xff\0\1\2\3\4\5"):
            monitor.load(sample)
            # The firmware resets the toy model's state before each of these five inferences, so the last one gives the
            # same result as the first.
            run = monitor.infer(3, 2)  # three timed inferences after two for warming up
            expected = toy_model.expected([sample])[0]
            assert monitor.raw_outputs() == expected
            assert run.results == tuple(float(b - 256 if b > 127 else b) for b in expected)
            assert monitor.results() == run.results


def test_laps_have_the_time_of_the_device(firmware: Firmware) -> None:
    """A lap is the message m-lap-us-N, with the time of the device in microseconds. The monitor sends one before and
    one after the timed inferences."""
    # C code that the toy model's last layer runs, so that an inference takes more than 1 ms.
    spin = "for (volatile int i = 0; i < 20000; i++) {\n    }"
    with start(load_board(BOARD), firmware(BOARD, spin, protocol="mlperf")) as machine:
        monitor = MonitorClient(machine.transport)
        monitor.connect()
        monitor.load(bytes(8))
        one_run_us, four_runs_us = monitor.infer(1, 0).microseconds, monitor.infer(4, 1).microseconds
        assert one_run_us > 1000
        assert four_runs_us == pytest.approx(4 * one_run_us, rel=0.01)
        assert monitor.timestamp_us() >= one_run_us + four_runs_us


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        (b"nonsense%", b"e-[unknown command]"),
        (b"db load 9%", b"e-[the inputs are not that large]"),
        (b"db 0g%", b"e-[not hexadecimal]"),
        (b"db 00%", b"e-[more bytes than announced]"),
        (b"x" * 300 + b"%", b"e-[the command is too long]"),
        (b"na\r\nme%", b"m-name-dut-[qemu_mps2_an386]"),
        (b"db load 2%db 0102%", b"m-[Expecting 2 bytes]\r\nm-ready\r\nm-load-done"),
    ],
)
def test_the_monitor_answers_every_command(firmware: Firmware, command: bytes, reply: bytes) -> None:
    with start(load_board(BOARD), firmware(BOARD, protocol="mlperf")) as machine:
        MonitorClient(machine.transport).connect()
        machine.transport.write(command)
        expected = reply + b"\r\nm-ready\r\n"
        actual = b""
        while len(actual) < len(expected) and (data := machine.transport.read(2.0)):
            actual += data
        assert actual == expected


@pytest.mark.slow
def test_firmware_with_arenites_own_protocol_raises_an_error(firmware: Firmware) -> None:
    with (
        start(load_board(BOARD), firmware(BOARD)) as machine,
        pytest.raises(DeviceError, match="No MLPerf monitor answers on"),
    ):
        MonitorClient(machine.transport).connect(timeout_s=1.0)
