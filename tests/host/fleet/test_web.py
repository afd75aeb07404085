"""The page of a fleet and its metrics, over HTTP and in a real browser, and the deletion of old events."""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.host.fleet.database import Database
from arenite.host.fleet.ingest import ingest
from arenite.host.fleet.messages import decode_events
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.prune import prune_events
from arenite.host.fleet.web.server import FleetPage
from tests.browser import Browser
from tests.host.fleet.direct_fleet import DirectFleet

pytest.importorskip("h11", reason="needs h11: pip install 'arenite[fleet]'")
parser = pytest.importorskip(
    "prometheus_client.parser", reason="needs prometheus_client: pip install 'arenite[fleet]'"
)

DEVICES = 16


@pytest.fixture
def fleet(database: Database, tmp_path: Path) -> DirectFleet:
    """Devices that have run for two hours, and a rollout that has begun."""
    fleet = DirectFleet(database, tmp_path / "devices", DEVICES)
    fleet.run(2)
    fleet.start("wrong-bytes")
    fleet.run(1)
    return fleet


@pytest.fixture
def page(fleet: DirectFleet, database_url: str) -> Iterator[FleetPage]:
    page = FleetPage(open_database(database_url), fleet.clock, print, "127.0.0.1", 0)
    page.start()
    with contextlib.closing(page):
        yield page


def read(page: FleetPage, path: str, **headers: str) -> bytes:
    request = urllib.request.Request(page.public_url.rstrip("/") + path, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bytes(answer.read())


def samples(page: FleetPage) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Return labels and value of each sample, by its name. Prometheus's own parser reads them."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in parser.text_string_to_metric_families(read(page, "/metrics").decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def total(values: list[tuple[dict[str, str], float]]) -> float:
    return sum(value for _, value in values)


def test_metrics_are_those_of_the_database(page: FleetPage, fleet: DirectFleet) -> None:
    found = samples(page)
    assert total(found["arenite_fleet_devices"]) == DEVICES
    assert total(found["arenite_fleet_rollouts"]) == 1
    inferences = total(found["arenite_fleet_inferences_total"])
    assert inferences > 0
    buckets = found["arenite_fleet_latency_seconds_bucket"]
    assert total([sample for sample in buckets if sample[0]["le"] == "+Inf"]) == inferences
    assert {labels["release"] for labels, _ in buckets} >= {"1.0.0"}


def test_the_data_of_the_page(page: FleetPage, fleet: DirectFleet) -> None:
    overview = json.loads(read(page, "/overview"))
    assert sum(overview["presence"].values()) == DEVICES
    assert overview["status"]["devices"]["total"] == DEVICES
    assert any("wrong-bytes" in entry["text"] or entry["rollout"] for entry in overview["audit"])
    found = json.loads(read(page, "/devices?search=d0003"))
    assert [device["device"] for device in found["devices"]] == ["d0003"] and found["total"] == 1
    for nothing in ("%25", "d0003'--", "d____"):
        assert json.loads(read(page, f"/devices?search={nothing}"))["total"] == 0
    with pytest.raises(urllib.error.HTTPError):
        read(page, "/nothing")
    with pytest.raises(
        urllib.error.HTTPError
    ):  # a page of another site that has the name resolved to this computer
        read(page, "/overview", Host="example.org")


@pytest.mark.browser
def test_the_page_in_a_browser(page: FleetPage, fleet: DirectFleet, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.open(page.url)
        browser.until(
            "document.body.innerText.includes('d0003') && document.body.innerText.includes('1.0.0')"
        )
        assert browser.errors == []


def test_old_events_are_deleted_and_never_counted_again(page: FleetPage, fleet: DirectFleet) -> None:
    fleet.run(60)
    before = samples(page)["arenite_fleet_inferences_total"]
    with fleet.database.reading() as transaction:
        old = transaction.query(
            "SELECT device, epoch, sequence, body FROM events ORDER BY received_ms, device, sequence LIMIT 1"
        )
        count = transaction.value("SELECT count(*) FROM events")
    result = prune_events(fleet.database, fleet.clock.ms, "somebody", 24 * 3600 * 1000)
    with fleet.database.transaction() as transaction:
        assert transaction.value("SELECT count(*) FROM events") == count - result.events < count
        device, epoch, sequence, body = old[0]
        event = {"sequence": sequence, "body": json.loads(body)}
        batch = {"schema": "arenite.events/1", "epoch": epoch, "first": sequence, "events": [event]}
        ingest(transaction, fleet.clock.ms, [(device, decode_events(json.dumps(batch).encode()))])
        assert transaction.value("SELECT count(*) FROM events") == count - result.events
        assert transaction.value("SELECT count(*) FROM audit WHERE action = 'prune'") == 1
    assert total(samples(page)["arenite_fleet_inferences_total"]) == total(before)
    assert prune_events(fleet.database, fleet.clock.ms, "somebody", 24 * 3600 * 1000).events == 0
