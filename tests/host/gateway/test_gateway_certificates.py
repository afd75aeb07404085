"""A gateway whose devices have a certificate each, with a real broker that requires them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.firmware.update.update_board import DeviceProcess
from tests.host.fleet.broker_helpers import WAIT_S, needs_broker, until
from tests.host.fleet.security.secure_broker import Client, secure_broker

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")


@pytest.mark.slow
@needs_broker
def test_each_device_behind_a_gateway_has_its_own_certificate(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    with secure_broker() as broker, DeviceProcess(folders[0]) as one, DeviceProcess(folders[1]) as two:
        server = Client(broker.url("server"))
        server.subscribe("arenite/plant/+/events")
        for name in ("pump-1", "pump-2"):
            broker.device(name)
        arguments = ["gateway", "--broker", broker.url("{device}"), "--fleet", "plant"]
        arguments += [f"--device=pump-1={one.port}", f"--device=pump-2={two.port}"]
        arguments += ["--state", str(tmp_path / "state")]
        gateway = subprocess.Popen([sys.executable, "-m", "arenite.host.cli.main", *arguments])
        try:
            topics = {f"arenite/plant/{name}/events" for name in ("pump-1", "pump-2")}
            until(lambda: {topic for topic, _ in server.messages} == topics)
            gateway.send_signal(signal.SIGTERM)
            assert gateway.wait(WAIT_S) == 0
        finally:
            gateway.kill()
            gateway.wait()
        server.close()
