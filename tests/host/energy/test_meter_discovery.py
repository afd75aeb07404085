"""Discovery of meters through USB and the network."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.energy import meter_choice, meter_discovery
from arenite.host.energy.meter_choice import MeterChoice
from arenite.host.energy.meters.ppk2 import Ppk2


def _port(device, vid, pid, product="", serial="", location=""):
    """Return a serial port with the attributes that pyserial reports. ``vid`` and ``pid`` are its USB IDs."""
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


def found_meters(ports, tmp_path, otii_port=1):
    """Return the meters that are discovered if the computer has these serial ports. ``tmp_path`` replaces the folder of
    USB devices in sysfs."""
    return meter_discovery.find_meters(ports, tmp_path, otii_port)


def test_a_ppk2_is_certain_and_st_ids_alone_are_not(tmp_path):
    meters = found_meters([*PPK2, LPM01A, OTHER, STLINK], tmp_path)
    summaries = {(m.name, m.where, m.sure) for m in meters}
    assert summaries == {
        ("ppk2", "/dev/ttyACM0", True), ("lpm01a", "/dev/ttyACM2", True), ("lpm01a", "/dev/ttyACM3", False),
    }  # fmt: skip


def test_a_joulescope_and_an_otii_server_are_discovered(tmp_path):
    device = tmp_path / "1-4"
    device.mkdir()
    for name, text in (("idVendor", "16d0\n"), ("idProduct", "10ba\n"), ("serial", "002557\n")):
        (device / name).write_text(text)
    (tmp_path / "1-0:1.0").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        meters = found_meters([], tmp_path, port)
    assert [(m.name, m.where) for m in meters] == [("joulescope", "usb"), ("otii", f"tcp:127.0.0.1:{port}")]
    assert (meters[0].description, meters[0].serial) == ("Joulescope JS220", "002557")


def pretend_ports(monkeypatch, tmp_path, ports):
    """Let the choice of a meter discover only the meters at these serial ports."""
    monkeypatch.setattr(meter_choice, "find_meters", lambda: found_meters(ports, tmp_path))


def test_the_only_meter_is_used(monkeypatch, tmp_path):
    pretend_ports(monkeypatch, tmp_path, [*PPK2, OTHER])
    for name in ("auto", "ppk2"):
        meter, address = MeterChoice(name, "auto", 3.0).make()
        assert isinstance(meter, Ppk2)
        assert address == "/dev/ttyACM0"


@pytest.mark.parametrize(
    ("ports", "name", "sentence"),
    [
        ([], "auto", "No meter was found."),
        ([*PPK2, LPM01A], "auto", "More than one meter was found; found: "),
        ([OTHER], "lpm01a", "No meter lpm01a was found; found: lpm01a at /dev/ttyACM3 (perhaps)."),
        (PPK2, "otii", "No meter otii was found; found: ppk2 at /dev/ttyACM0."),
    ],
)
def test_an_ambiguous_choice_raises_an_error(monkeypatch, tmp_path, ports, name, sentence):
    pretend_ports(monkeypatch, tmp_path, ports)
    with pytest.raises(UsageError if sentence.startswith("More") else DeviceError) as caught:
        MeterChoice(name, "auto", 3.0).make()
    assert caught.value.problem.startswith(sentence)


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        (MeterChoice("otii", "tcp:127.0.0.1:1", 3.0, own_supply=True), "otii always feeds the board"),
        (MeterChoice("scpi", "tcp:127.0.0.1:1", 3.0, own_supply=True), "scpi never feeds the board"),
        (MeterChoice("ppk2", "/dev/null", 3.0, rate_hz=10.0), "The rate of ppk2 cannot be set"),
    ],
)
def test_unsupported_options_raise_an_error(choice, sentence):
    with pytest.raises(UsageError, match=sentence):
        choice.make()
