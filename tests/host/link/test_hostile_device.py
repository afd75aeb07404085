"""If a device answers with wrong lengths or an endless log, the client raises a device error. Control characters in its
answers do not reach the terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import struct
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Callable
from pathlib import Path

import pytest

from arenite.errors import DeviceError
from arenite.host.cli.main import main
from arenite.host.flash.drives import read_facts
from arenite.host.link import mlperf_monitor
from arenite.host.link.client import DESCRIBE, DONE, HEALTH, HELLO, LOG, NO_SESSION, DeviceClient
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.link.ports import describe
from arenite.host.link.transport import SerialTransport
from arenite.host.link.usb import serial_ports, usb_devices
from tests.host.link.hostile_device import HostileDevice, endless_log, greeting, healthy
from tests.host.link.usb_tree import UsbTree

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b1A\u202eevil\r"


def steers_terminal(text: str) -> bool:
    """Return whether ``text`` contains control characters other than line feeds and tabs."""
    return any(not c.isprintable() and c not in "\n\t" for c in text)


@pytest.mark.parametrize(
    ("request_kind", "nbytes"),
    [
        (kind, nbytes)
        for kind, lengths in {
            "hello": (0, 1, 7, 23),
            "describe": (0, 7, 9),
            "infer": (0, 8, 11, 13),
            "memory": (0, 12, 15, 17, 57),
            "health": (0, 1, 55),
            "log": (1, 19, 57),
        }.items()
        for nbytes in lengths
    ],
)
def test_a_reply_of_the_wrong_length_is_a_device_error(request_kind: str, nbytes: int) -> None:
    def answer(request: bytes) -> tuple[int, bytes]:
        if request[1] == HELLO and request_kind != "hello":
            return DONE, greeting(inputs=1)
        if request[1] == DESCRIBE and request_kind != "describe":
            return DONE, bytes(8)
        if request_kind == "log":
            return healthy(request) if request[1] == HEALTH else (DONE, bytes(nbytes))
        return DONE, bytes([1]) * nbytes

    with HostileDevice(answer) as device, SerialTransport(device.port) as transport:
        client = DeviceClient(transport)
        with pytest.raises(DeviceError, match=r"malformed|version None"):
            client.hello()
            getattr(client, request_kind)()


def test_an_endless_log_ends_with_an_error() -> None:
    with HostileDevice(endless_log) as device, SerialTransport(device.port) as transport:
        with pytest.raises(DeviceError, match="does not end: 260 entries"):
            DeviceClient(transport).log()
        assert device.requests < 40


def test_an_entry_with_the_highest_number_does_not_restart_the_log() -> None:
    def answer(request: bytes) -> tuple[int, bytes]:
        return healthy(request) if request[1] != LOG else (DONE, struct.pack("<5I", 0xFFFFFFFF, 0, 1, 0, 0))

    with (
        HostileDevice(answer) as device,
        SerialTransport(device.port) as transport,
        pytest.raises(DeviceError, match="does not end"),
    ):
        DeviceClient(transport).log()


@pytest.mark.slow
def test_monitor_log_ends_after_its_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """The device describes 255 inputs, each after 0.3 s. The command does not wait for all descriptions."""

    def slow(request: bytes) -> tuple[int, bytes]:
        if request[1] == HELLO:
            return DONE, greeting(inputs=255)
        time.sleep(0.3)
        return DONE, bytes(8)

    with HostileDevice(slow) as device:
        begin = time.monotonic()
        assert main(["monitor", device.port, "--log", "--seconds", "1"]) == 0
        assert time.monotonic() - begin < 30
        assert device.requests < 100
    with HostileDevice(endless_log) as device:
        assert main(["monitor", device.port, "--log", "--seconds", "5"]) == 3
    assert "does not end" in capsys.readouterr().err


def test_a_device_that_never_opens_a_session_is_a_device_error() -> None:
    with HostileDevice(lambda _: (NO_SESSION, b"")) as device, SerialTransport(device.port) as transport:
        with pytest.raises(DeviceError, match="refused command 1 with code 4"):
            DeviceClient(transport).hello()
        with pytest.raises(DeviceError, match="restarted"):
            DeviceClient(transport).memory()


def test_names_of_a_device_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = ESCAPES.encode()
    with (
        HostileDevice(lambda _: (DONE, greeting(name, name))) as device,
        SerialTransport(device.port) as transport,
    ):
        info = DeviceClient(transport).hello()
        assert info.model == info.board
        assert info.model == "\\x1b]0;owned\\x07\\x1b[2J\\x9b1A\\u202eevil\\x0d"
        with pytest.raises(DeviceError, match="runs other firmware") as error:
            DeviceClient(transport).connect(b"12345678")
    assert not steers_terminal(str(error.value))


def test_names_on_usb_cannot_control_the_terminal(tmp_path: Path) -> None:
    tree = UsbTree(tmp_path)
    text = ESCAPES.replace("\r", "") + "\nError: forged"
    tree.plug("2e8a:000a", ("ttyACM0",), product=text, maker=text, serial=text)
    assert not steers_terminal(describe(serial_ports(tree.root)))
    assert len(describe(serial_ports(tree.root)).splitlines()) == 2
    (device,) = usb_devices(tree.root)
    for value in (device.product, device.maker, device.serial):
        assert value.isprintable() and "forged" in value


def test_the_description_of_a_drive_cannot_control_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "INFO_UF2.TXT").write_bytes(b"Board-ID: a\x1b[2Jb\r\nModel: \x07\r\n")
    assert read_facts(tmp_path / "INFO_UF2.TXT") == {"board-id": "a\\x1b[2Jb", "model": "\\x07"}


def _text_device(answer: Callable[[bytes], bytes]) -> tuple[str, int]:
    """Start a device that answers each command that ends in %. Return the name of its port and the file descriptor of
    the device's end."""
    near, far = pty.openpty()
    tty.setraw(far)

    def run() -> None:
        pending = b""
        while True:
            try:
                pending += os.read(near, 4096)
                while b"%" in pending:
                    command, _, pending = pending.partition(b"%")
                    os.write(near, answer(command))
            except OSError:
                return

    threading.Thread(target=run, daemon=True).start()
    return os.ttyname(far), far


def test_answers_of_the_mlperf_monitor_cannot_control_the_terminal() -> None:
    ready = b"m-ready\r\n"
    answers = {
        b"name": b"m-name-dut-[d\x1b[2J]\r\n" + ready,
        b"profile": b"m-profile-[p\x07]\r\nm-model-[m\x1b]0;x\x07]\r\n" + ready,
        b"results": b"e-[bad\x1b[2J]\r\n" + ready,
        b"timestamp": b"m-lap-us-" + b"9" * 5000 + b"\r\n" + ready,
    }
    port, _ = _text_device(lambda command: answers.get(command, ready))
    with SerialTransport(port) as transport:
        client = MonitorClient(transport)
        info = client.connect()
        assert (info.device, info.profile, info.model) == ("d\\x1b[2J", "p\\x07", "m\\x1b")
        with pytest.raises(DeviceError) as error:
            client.results()
        assert not steers_terminal(str(error.value))
        with pytest.raises(DeviceError, match="sent no timestamp"):
            client.timestamp_us()


def test_an_answer_that_does_not_end_is_a_device_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlperf_monitor, "_MAX_ANSWER_BYTES", 10_000)
    port, _ = _text_device(lambda _: b"x" * 20_000)
    with SerialTransport(port) as transport, pytest.raises(DeviceError, match="sends without end"):
        MonitorClient(transport).results()


def test_json_of_a_hostile_log_line_is_one_line() -> None:
    near, far = pty.openpty()
    tty.setraw(far)
    command = [sys.executable, "-m", "arenite.host.cli.main", "monitor", os.ttyname(far), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        connected = process.stdout.readline()  # the device may send its line now
        os.write(near, ESCAPES.encode() + b"\n")
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert json.loads(connected)["event"] == "connected" and rest == ""
    assert not steers_terminal(line) and not steers_terminal(json.loads(line)["text"])
    assert "evil" in json.loads(line)["text"]
    os.close(near)
    os.close(far)
