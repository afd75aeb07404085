"""Every message, event and result fits its published schema."""

from __future__ import annotations

import json
from pathlib import Path

from arenite.host.fleet.database import Database
from arenite.host.fleet.fleet_status import fleet_status, rollout_status
from arenite.host.fleet.ingest import ingest
from arenite.host.fleet.messages import decode_events, encode_acknowledgement, encode_desired
from tests.docs.schemas import problems
from tests.host.fleet.direct_fleet import DirectFleet


def test_messages_and_results_fit_their_schemas(database: Database, tmp_path: Path) -> None:
    fleet = DirectFleet(database, tmp_path / "devices", 16)
    fleet.run(2)
    number = fleet.start("wrong-bytes")
    fleet.run(1)
    objects = []
    with database.transaction() as transaction:
        objects.append(fleet_status(transaction, fleet.clock.ms, with_devices=True))
        objects.append(rollout_status(transaction, fleet.clock.ms, number))
        for kind in ("boot", "heartbeat", "update-outcome"):
            bodies = transaction.query("SELECT body FROM events WHERE kind = ?", (f"arenite.{kind}/1",))
            assert bodies
            objects += [json.loads(body) for (body,) in bodies]
        device = fleet.devices["d0000"]
        device.agent.record("example.alarm/1")
        _, will = device.agent.will
        objects += [json.loads(will), json.loads(device.agent.connected()[1])]
        message = device.agent.outgoing()
        assert message is not None
        objects.append(json.loads(message[1]))
        [(_, acknowledgement)] = ingest(transaction, fleet.clock.ms, [("d0000", decode_events(message[1]))])
        objects.append(json.loads(encode_acknowledgement(acknowledgement)))
        if acknowledgement.desired is not None:
            objects.append(json.loads(encode_desired(acknowledgement.desired)))
    assert [text for item in objects for text in problems(item)] == []
    schemas = {item["schema"] for item in objects}
    assert len(schemas) >= 8
