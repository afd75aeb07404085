"""`arenite gateway` reports each inference of an ESP32 once, over restarts too, and updates its model.

The program of the ESP32 runs on QEMU's RISC-V machine with a model of ESP-IDF (``tests/firmware/update/esp32``), with a
real broker and a real server.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arenite.host.fleet.observations import BINS
from arenite.host.update.device_info import read_device
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.smp_message import GROUP_OS, WRITE
from tests.firmware.agent.expected_observations import SEEDS, expected_observations
from tests.firmware.update.esp32.esp_agent import EspWithAgent
from tests.firmware.update.esp32.esp_board import BOARD, reset_over_usb
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.host.cli.conftest import Arenite, arenite
from tests.host.fleet.broker_helpers import needs_broker, until
from tests.host.fleet.conftest import port
from tests.host.gateway.fleet_records import boots, cohort
from tests.host.gateway.plant import Plant
from tests.host.small_graphs import CLASSES, classifier
from tests.host.update.retrained_model import retrained
from tests.host.update.slot_board import SlotBoard

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    needs_broker,
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
]
__all__ = ["arenite", "port"]
RESET = 5


def test_the_gateway_reports_and_updates_an_esp32(tmp_path: Path, port: int, arenite: Arenite) -> None:
    for tool in ("riscv64-unknown-elf-gcc", "qemu-system-riscv32"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    library_or_skip("ed25519")
    made = EspWithAgent(tmp_path, classifier())
    new = made.model_image(retrained(classifier(), 4), "1.1.0")
    expected = expected_observations(made.model)
    plant = Plant(tmp_path, port, arenite, BOARD)
    with made.run(made.flash) as machine, plant.server():
        device = SlotBoard(machine.transport)
        device.read_until("self-test 3 samples passed")
        for rounds in (1, 2, 3):
            for seed in SEEDS:
                device.send(f"infer {seed}")
                device.read_until("inference ")
            count = rounds * len(SEEDS)
            # The gateway has the port, so that nobody else may read it.
            with plant.gateway(f"pump-1={machine.port}"):
                until(lambda: cohort(plant.url, "1.0.0").totals["inferences"] == count)  # noqa: B023
            if rounds == 2:
                link = DeviceLink(lambda: machine.transport, use_code=False)
                link.try_request(WRITE, GROUP_OS, RESET, 20.0)
                read_device(link, is_restarting=True)  # it answers after its self-test
        with plant.gateway(f"pump-1={machine.port}"):
            until(lambda: len(boots(plant.url)) == 5)  # four of the gateway, one of the device
            reset_over_usb(machine)
            until(lambda: len(boots(plant.url)) == 6)
            assert plant.roll_out(1, "1.1.0", new)["state"] == "done"
            until(lambda: len(boots(plant.url)) == 7)
        causes = [body["reset_cause"] for body in boots(plant.url)]
        # The third start of the gateway reports the device's restart too.
        assert causes == ["power_on"] * 2 + ["software"] * 3 + ["reset_pin", "update"]
        assert {body["board"] for body in boots(plant.url)} == {BOARD}
        total = cohort(plant.url, "1.0.0")
        assert total.totals["inferences"] == count == sum(total.histograms["latency"].values())
        assert total.counts("classes", CLASSES) == [3 * number for number in expected.classes]
        assert total.counts("confidence", BINS) == [3 * number for number in expected.confidence]
        for k in (0, 1):
            assert total.counts(f"inputs.{k}", BINS) == [3 * number for number in expected.inputs[k]]
