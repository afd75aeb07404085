"""`arenite gateway` finds USB devices by their serial number, or takes the only USB serial port."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.host.fleet.broker_helpers import needs_broker, until
from tests.host.gateway.board_port import BoardPort
from tests.host.gateway.smp_plant import SmpPlant
from tests.host.link.usb_tree import UsbTree

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [needs_broker, pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)]


@pytest.mark.parametrize(
    ("port", "problem"), [("usb:066AFF01", "has the serial number 066AFF01"), ("auto", "no USB serial port")]
)
def test_a_usb_device_is_found_whenever_it_is_plugged_in(tmp_path: Path, port: str, problem: str) -> None:
    tree = UsbTree(tmp_path / "usb")
    with (
        SmpPlant(tmp_path) as plant,
        BoardPort(tmp_path) as device,
        plant.gateway(port, usb=tree.root) as gateway,
    ):
        until(lambda: gateway.has_said(problem))
        tree.plug("0483:374b", ("ttyACM1",), serial="066AFF01")
        tree.link_port("ttyACM1", str(device.path))
        until(lambda: gateway.has_said("answers"))
        gateway.stop()
