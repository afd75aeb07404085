"""The gateway keeps the port of a device that does not answer, and tells a late answer from none."""

from __future__ import annotations

import os
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arenite.host.gateway import serial_device
from arenite.host.gateway.serial_device import GatewaySettings, SerialDevice
from arenite.host.mqtt.broker_address import parse_broker_address
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.host.fleet.broker_helpers import until
from tests.host.gateway.board_port import BoardPort

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
Report = Callable[[str], None]


@contextmanager
def gateway(port: str, folder: Path, report: Report) -> Iterator[None]:
    """Serve a device as `arenite gateway` does, without a broker."""
    settings = GatewaySettings(parse_broker_address("127.0.0.1:1"), "plant", folder)
    stop = threading.Event()
    thread = threading.Thread(target=SerialDevice("pump-1", port, settings, report).run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.fixture
def silent_port() -> Iterator[str]:
    master, slave = os.openpty()
    tty.setraw(slave)
    yield os.ttyname(slave)
    os.close(master)
    os.close(slave)


def test_two_gateways_do_not_take_turns_on_a_silent_port(
    silent_port: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Many tries in a short time.
    monkeypatch.setattr(serial_device, "SILENCE_S", 0.1)
    monkeypatch.setattr(serial_device, "_RETRY_S", 0.1)
    first: list[str] = []
    second: list[str] = []
    tries = []
    open_port = SerialDevice._open

    def count(device: SerialDevice) -> object:
        tries.append(threading.current_thread().name)
        return open_port(device)

    monkeypatch.setattr(SerialDevice, "_open", count)
    with gateway(silent_port, tmp_path / "1", first.append):
        until(lambda: bool(first))
        with gateway(silent_port, tmp_path / "2", second.append):
            until(lambda: len(tries) > 30)
        assert first == [
            f"pump-1: The device on {silent_port} did not answer requests of the update protocol for 0 s."
        ]
        assert second == [f"pump-1: Another program uses the serial port {silent_port}."]
    # The other one goes on when the first one has ended.
    with gateway(silent_port, tmp_path / "2", second.append):
        until(lambda: "did not answer" in second[-1])


@pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)
def test_a_late_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial_device, "SILENCE_S", 1.0)
    reports: list[str] = []

    def report(text: str) -> None:
        reports.append(text)
        if "did not answer" in text:
            device.deliver_answers()

    with BoardPort(tmp_path) as device:
        device.delay_answers()
        with gateway(str(device.path), tmp_path / "state", report):
            until(lambda: any("answers, but too late" in text for text in reports))
            # The next answers are in time.
            # The report of the missing broker may follow at once.
            until(lambda: f"pump-1: the qemu_microbit on {device.path} answers." in reports)
    assert ["did not answer" in text for text in reports[:2]] == [True, False]
