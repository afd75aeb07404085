"""A gateway whose broker is away at its start, and whose device is disconnected for a while."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.host.fleet.broker_helpers import needs_broker, until
from tests.host.fleet.security.secure_broker import Client
from tests.host.gateway.board_port import BoardPort
from tests.host.gateway.smp_plant import SmpPlant

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [needs_broker, pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)]


def test_a_broker_that_is_away_at_the_start_gets_the_events_later(tmp_path: Path) -> None:
    with SmpPlant(tmp_path) as plant, BoardPort(tmp_path) as device:
        plant.broker.kill()
        with plant.gateway(device.path) as gateway:
            until(lambda: gateway.has_said("answers") and gateway.has_said("cannot be reached"))
            time.sleep(1.5)  # for a heartbeat
            plant.broker.start()
            client = Client(f"127.0.0.1:{plant.port}")
            client.subscribe("arenite/plant/pump-1/events")
            until(lambda: client.messages)
            kinds = [e["body"]["schema"] for e in json.loads(client.messages[0][1])["events"]]
            assert kinds[:2] == ["arenite.boot/1", "arenite.heartbeat/1"]
            assert gateway.has_said("Connected to")
            plant.broker.kill()
            gateway.stop()
            client.close()


@pytest.mark.slow
def test_a_cable_that_was_pulled_is_put_back(tmp_path: Path) -> None:
    with SmpPlant(tmp_path) as plant, BoardPort(tmp_path) as device:
        client = Client(f"127.0.0.1:{plant.port}")
        client.subscribe("arenite/plant/pump-1/status")

        def states() -> list[bool]:
            return [json.loads(payload)["online"] for _, payload in client.messages]

        with plant.gateway(device.path) as gateway:
            until(lambda: states() == [True])
            # The gateway asks an idle device every ten seconds whether it is there.
            device.pull()
            until(lambda: states() == [True, False])
            assert gateway.has_said("disappeared")
            device.connect()
            until(lambda: states() == [True, False, True])
            assert gateway.log.read_text().count(" answers.") == 2
            device.answers = False
            until(lambda: states() == [True, False, True, False])
            assert gateway.has_said("did not answer requests of the update protocol for 5 s")
            device.answers = True
            until(lambda: states()[-1])
            gateway.stop()
        until(lambda: not states()[-1])
        client.close()
