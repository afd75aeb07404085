"""`arenite gateway` reports what the firmware of an emulated board counts, with a real broker and a real server."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.firmware.update.loader import build_loader
from arenite.host.emulator.flash_file import UpdatableEmulator, new_flash, start_updatable
from arenite.host.fleet.observations import BINS
from arenite.host.link.transport import PortFullError
from arenite.host.update.device_info import read_device
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.keys import generate_key, read_public_key
from arenite.host.update.smp_message import GROUP_OS, WRITE
from arenite.host.update.update_build import UpdateImages, UpdateOptions, build_update
from arenite.profiles.boards import load_board
from tests.firmware.agent.expected_observations import SEEDS, expected_observations
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.host.cli.conftest import Arenite, arenite
from tests.host.fleet.broker_helpers import needs_broker, until
from tests.host.fleet.conftest import port
from tests.host.gateway.fleet_records import boots, cohort
from tests.host.gateway.plant import Plant
from tests.host.small_graphs import CLASSES, classifier, save
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
BOARD = "qemu_mps2_an386"
RESET = 5


@pytest.fixture(autouse=True)
def tools() -> None:
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    library_or_skip("ed25519")


def build(folder: Path, model: Any, version: str) -> UpdateImages:
    """Return the images of a model, which is saved beside the key."""
    key = folder / "release.pem"
    if not key.exists():
        generate_key(key)
    path = save(model, folder / f"{version}.tflite")
    options = UpdateOptions(key, version, optimise="flash", agent=True)
    return build_update(path, load_board(BOARD), options)


@contextmanager
def emulated(folder: Path, images: UpdateImages) -> Iterator[UpdatableEmulator]:
    """Run a device with these images."""
    board, flash = load_board(BOARD), folder / "flash.bin"
    loader = build_loader(board, read_public_key(folder / "release.pem"), folder / "loader")
    assert images.firmware is not None
    new_flash(board, flash, images.firmware, images.model)
    with start_updatable(board, loader.elf, flash, icount=False) as emulator:
        yield emulator


def test_the_server_has_the_exact_counts(tmp_path: Path, port: int, arenite: Arenite) -> None:
    images = build(tmp_path, classifier(), "1.0.0")
    plant = Plant(tmp_path, port, arenite, BOARD)
    expected = expected_observations(tmp_path / "1.0.0.tflite")
    with emulated(tmp_path, images) as emulator, plant.server():
        transport = emulator.machine.transport
        device = SlotBoard(transport)

        def infer() -> None:
            for seed in SEEDS:
                device.send(f"infer {seed}")
                device.read_until("inference ")

        device.read_until("self-test 3 samples passed")
        for rounds in (1, 2):
            infer()
            # The gateway has the port, so that nobody else may read it.
            with plant.gateway(f"pump-1={emulator.machine.port}"):
                count = rounds * len(SEEDS)
                until(lambda: cohort(plant.url, "1.0.0").totals["inferences"] == count)  # noqa: B023
        total = cohort(plant.url, "1.0.0")
        assert total.counts("classes", CLASSES) == [2 * count for count in expected.classes]
        assert total.counts("confidence", BINS) == [2 * count for count in expected.confidence]
        for k in (0, 1):
            assert total.counts(f"inputs.{k}", BINS) == [2 * count for count in expected.inputs[k]]
        assert sum(total.histograms["latency"].values()) == 2 * len(SEEDS)
        assert [body["reset_cause"] for body in boots(plant.url)] == ["unknown"] * 2
        link = DeviceLink(lambda: transport, use_code=False)
        link.try_request(WRITE, GROUP_OS, RESET, 20.0)
        read_device(link, is_restarting=True)  # it answers after its self-test
        with plant.gateway(f"pump-1={emulator.machine.port}"):
            until(lambda: len(boots(plant.url)) == 4)  # of the gateway and of the device
            emulator.reset()  # nobody tells the reason
            until(lambda: len(boots(plant.url)) == 5)
        assert [body["reset_cause"] for body in boots(plant.url)][2:] == ["software"] * 2 + ["unknown"]
        assert cohort(plant.url, "1.0.0").totals["inferences"] == 2 * len(SEEDS)


def test_a_release_that_drifts_is_put_back(tmp_path: Path, port: int, arenite: Arenite) -> None:
    """The calibration data is dark, and the device sees noise."""
    old, new = (
        build(tmp_path, model, f"1.0.{k}")
        for k, model in enumerate((classifier(), retrained(classifier(), 4)), 1)
    )
    dark = np.random.default_rng(1).integers(-128, -100, (400, 12, 12, 3), np.int8)
    np.savez(tmp_path / "dark.npz", x=dark)
    words = ("--inputs", tmp_path / "dark.npz", "-o", tmp_path / "reference.json")
    assert arenite("fleet", "reference", tmp_path / "1.0.2.tflite", *words).code == 0
    plant = Plant(tmp_path, port, arenite, BOARD)
    with emulated(tmp_path, old) as emulator, plant.server():
        SlotBoard(emulator.machine.transport).read_until("self-test 3 samples passed")
        with plant.gateway(f"pump-1={emulator.machine.port}"):
            until(lambda: plant.fleet("status")["releases"] == {"1.0.1": 1})
            plant.add("1.0.1", old.model)
            plant.add("1.0.2", new.model, reference="reference.json")
            plant.fleet("rollout", "start", "1.0.2", "--set=soak_s=300", "--set=min_inferences=30")

            sent, counted, end = 0, 0, 0.0

            def is_back() -> bool:
                # A line that meets a request of the gateway is lost. Its answers go to the gateway. Few lines wait for
                # the device: the requests of the gateway come behind them.
                nonlocal sent, counted, end
                counts = [cohort(plant.url, version).totals["inferences"] for version in ("1.0.1", "1.0.2")]
                if sum(counts) > counted or time.monotonic() > end:
                    sent, counted, end = sum(counts), sum(counts), time.monotonic() + 20
                if sent < counted + 12:
                    sent += 4
                    with suppress(PortFullError):  # the device takes no bytes during an installation
                        emulator.machine.transport.write(b"infer 3\ninfer 4\n" * 2)
                return bool(plant.fleet("rollout", "show", "1")["state"] == "rolled_back")

            until(is_back)
            assert "drift.inputs" in plant.fleet("rollout", "show", "1")["reason"]
            until(lambda: plant.fleet("status")["releases"] == {"1.0.1": 1})
            until(lambda: len(boots(plant.url)) == 3)  # of the gateway, and after both installations
        causes = [body["reset_cause"] for body in boots(plant.url)]
        assert causes[1:] == ["update", "update"]
        assert cohort(plant.url, "1.0.2").totals["inferences"] > 0
