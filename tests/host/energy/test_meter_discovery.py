"""Meters by what USB and the network show of them."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.energy import meter_choice, meter_discovery
from arenite.host.energy.meter_choice import MeterChoice
from arenite.host.energy.meters.ppk2 import Ppk2


def _port(device, vid, pid, product="", serial="", location=""):
    return SimpleNamespace(
        device=device, vid=vid, pid=pid, product=product, description=product, serial_number=serial,
        location=location,
    )  # fmt: skip


PPK2 = [
    _port("/dev/ttyACM1", 0x1915, 0xC00A, "PPK2", "C0FFEE", "1-2:1.3"),
    _port("/dev/ttyACM0", 0x1915, 0xC00A, "PPK2", "C0FFEE", "1-2:1.1"),
]
LPM01A = _port("/dev/ttyACM2", 0x0483, 0x5740, "PowerShield (Virtual ComPort in FS Mode)", "FFFFFFFEFFFF")
OTHER = _port("/dev/ttyACM3", 0x0483, 0x5740, "STM32 Virtual ComPort", "3761")
STLINK = _port("/dev/ttyACM4", 0x0483, 0x374B, "STM32 STLink", "0669FF")


def _found(ports, tmp_path, otii_port=1):
    return meter_discovery.find_meters(ports, tmp_path, otii_port)


def test_a_ppk2_is_its_first_port_and_st_ids_alone_say_little(tmp_path):
    found = _found([*PPK2, LPM01A, OTHER, STLINK], tmp_path)
    told = {(m.name, m.where, m.sure) for m in found}
    assert told == {
        ("ppk2", "/dev/ttyACM0", True), ("lpm01a", "/dev/ttyACM2", True), ("lpm01a", "/dev/ttyACM3", False),
    }  # fmt: skip


def test_a_joulescope_and_an_otii_server_are_seen(tmp_path):
    device = tmp_path / "1-4"
    device.mkdir()
    for name, text in (("idVendor", "16d0\n"), ("idProduct", "10ba\n"), ("serial", "002557\n")):
        (device / name).write_text(text)
    (tmp_path / "1-0:1.0").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = _found([], tmp_path, port)
    assert [(m.name, m.where) for m in found] == [("joulescope", "usb"), ("otii", f"tcp:127.0.0.1:{port}")]
    assert (found[0].description, found[0].serial) == ("Joulescope JS220", "002557")


def _seen(monkeypatch, tmp_path, ports):
    monkeypatch.setattr(meter_choice, "find_meters", lambda: _found(ports, tmp_path))


def test_the_only_meter_is_taken(monkeypatch, tmp_path):
    _seen(monkeypatch, tmp_path, [*PPK2, OTHER])
    for name in ("auto", "ppk2"):
        meter, where = MeterChoice(name, "auto", 3.0).make()
        assert isinstance(meter, Ppk2)
        assert where == "/dev/ttyACM0"


@pytest.mark.parametrize(
    ("ports", "name", "sentence"),
    [
        ([], "auto", "No meter was found."),
        ([*PPK2, LPM01A], "auto", "More than one meter was found; found: "),
        ([OTHER], "lpm01a", "No meter lpm01a was found; found: lpm01a at /dev/ttyACM3 (perhaps)."),
        (PPK2, "otii", "No meter otii was found; found: ppk2 at /dev/ttyACM0."),
    ],
)
def test_what_is_not_sure_is_told(monkeypatch, tmp_path, ports, name, sentence):
    _seen(monkeypatch, tmp_path, ports)
    with pytest.raises(UsageError if sentence.startswith("More") else DeviceError) as caught:
        MeterChoice(name, "auto", 3.0).make()
    assert caught.value.problem.startswith(sentence)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (MeterChoice("otii", "tcp:127.0.0.1:1", 3.0, own_supply=True), "otii always feeds the board"),
        (MeterChoice("scpi", "tcp:127.0.0.1:1", 3.0, own_supply=True), "scpi never feeds the board"),
        (MeterChoice("ppk2", "/dev/null", 3.0, rate_hz=10.0), "The rate of ppk2 cannot be set"),
    ],
)
def test_options_that_a_meter_does_not_have(asked, sentence):
    with pytest.raises(UsageError, match=sentence):
        asked.make()
