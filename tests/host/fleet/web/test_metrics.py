"""The metrics that the page serves are figures of the database, in a form that Prometheus reads."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from arenite.host.fleet.database import Database
from arenite.host.fleet.ingest import ingest
from arenite.host.fleet.latency_histogram import BUCKETS, bucket_of, percentile_us
from arenite.host.fleet.messages import Event, EventBatch
from arenite.host.fleet.web.metrics import metrics_text
from tests.docs.pages import ROOT
from tests.host.fleet.direct_fleet import START_MS
from tests.host.fleet.web.conftest import Running

Samples = dict[str, dict[frozenset[tuple[str, str]], float]]


def parse(text: str) -> Samples:
    samples: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = frozenset(sample.labels.items())
            values = samples.setdefault(sample.name, {})
            assert labels not in values, f"{sample.name} {sorted(labels)} is there twice"
            values[labels] = sample.value
    return samples


def by(samples: dict[frozenset[tuple[str, str]], float], *names: str) -> dict[Any, float]:
    """Return the sums of samples by some of their labels, as ``sum by (...)`` does."""
    sums: Counter[Any] = Counter()
    for labels, value in samples.items():
        key = tuple(dict(labels)[name] for name in names)
        sums[key if len(names) > 1 else key[0]] += value  # type: ignore[assignment]
    return dict(sums)


@pytest.fixture
def samples(running: Running) -> Samples:
    status, headers, text = running.get("/metrics")
    assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parse(text)


def test_devices_events_and_totals(samples: Samples, running: Running) -> None:
    devices = samples["arenite_fleet_devices"]
    assert by(devices, "state") == {"online": 22, "silent": 2}
    assert sum(by(devices, "board").values()) == 24 and len(by(devices, "board")) == 8
    assert by(devices, "group") == {"default": 24}
    with running.fleet.database.transaction() as transaction:
        stored = transaction.value("SELECT count(*) FROM events")
        releases: dict[str, int] = dict(
            transaction.query("SELECT release, count(*) FROM devices GROUP BY release")  # type: ignore[arg-type]
        )
        bodies = [
            json.loads(row[0])
            for row in transaction.query("SELECT body FROM events WHERE kind = 'arenite.heartbeat/1'")
        ]
    assert by(devices, "release") == releases and len(releases) == 2
    assert samples["arenite_fleet_events_stored_total"][frozenset()] == stored
    assert samples["arenite_fleet_events_lost"][frozenset()] == 0
    assert sum(samples["arenite_fleet_heartbeats_total"].values()) == len(bodies)
    for name, field, scale in (("inferences", "inferences", 1), ("covered_seconds", "covered_ms", 1000)):
        total = sum(samples[f"arenite_fleet_{name}_total"].values())
        assert total == pytest.approx(sum(body[field] for body in bodies) / scale)
    served = samples["arenite_fleet_served_timestamp_seconds"][frozenset()]
    assert served == running.fleet.clock.ms / 1000


def test_the_histogram_has_each_latency_in_its_bucket(samples: Samples, running: Running) -> None:
    counts = [0] * BUCKETS
    with running.fleet.database.transaction() as transaction:
        for (body,) in transaction.query("SELECT body FROM events WHERE kind = 'arenite.heartbeat/1'"):
            for bucket, count in json.loads(body)["latency"]:
                counts[bucket] += count
    buckets = by(samples["arenite_fleet_latency_seconds_bucket"], "le")
    assert buckets["+Inf"] == sum(counts) == sum(samples["arenite_fleet_latency_seconds_count"].values())
    bounds = sorted((float(le), value) for le, value in buckets.items())
    assert [value for _, value in bounds] == sorted(value for _, value in bounds)
    for bound, value in bounds[:-1]:
        # A latency of exactly the bound is in the bucket, and one that is a microsecond longer is not.
        assert value == sum(counts[: bucket_of(round(bound * 1e6)) + 1])
        assert bucket_of(round(bound * 1e6)) < bucket_of(round(bound * 1e6) + 1)
    p99 = percentile_us(counts, 99)
    assert p99 is not None
    assert next(b for b, v in bounds if v >= 0.99 * sum(counts)) == pytest.approx(p99 / 1e6, rel=0.5)


def test_drift_rollouts_and_gates(samples: Samples, running: Running) -> None:
    drift = samples["arenite_fleet_drift_psi"]
    assert set(by(drift, "quantity")) == {"classes", "inputs.0", "inputs.1"}
    assert {release for release, _ in by(drift, "release", "board")} == {"1.0.0", "2.0.0"}
    assert all(0 <= value < 1 for value in drift.values())
    assert by(samples["arenite_fleet_rollouts"], "state") == {
        "running": 1, "paused": 0, "rolling_back": 0, "done": 0, "rolled_back": 0,
    }  # fmt: skip
    rollout = running.fleet.rollout(1)
    key = ("1", "2.0.0", "default")
    names = ("rollout", "release", "group")
    assert by(samples["arenite_fleet_rollout_wave"], *names) == {key: rollout.wave + 1}
    assert by(samples["arenite_fleet_rollout_waves"], *names) == {key: 3}
    touched = len(running.fleet.touched(1))
    assert by(samples["arenite_fleet_rollout_devices"], *names) == {key: touched} and touched
    gates = by(samples["arenite_fleet_gate_limit"], "gate", "board")
    assert {gate for gate, _ in gates} >= {"golden", "crashes", "latency", "silence", "drift.classes"}
    values = samples["arenite_fleet_gate_value"]
    assert set(values) <= set(samples["arenite_fleet_gate_limit"]) and values


def test_crashes_have_their_cause(database: Database) -> None:
    boots = [
        {
            "schema": "arenite.boot/1",
            "board": "b",
            "release": "1",
            "reset_cause": cause,
            "crashed_release": crashed,
        }
        for cause, crashed in (("watchdog", "1"), ("watchdog", "1"), ("fault", "1"), ("power_on", None))
    ]
    events = tuple(Event(k + 1, json.dumps(body)) for k, body in enumerate(boots))
    with database.transaction() as transaction:
        ingest(transaction, START_MS, [("d", EventBatch(1, 1, events))])
        # A crash that an older Arenite has counted has no cause.
        transaction.execute("UPDATE cohorts SET amount = amount + 1 WHERE quantity = 'crashes'")
    with database.reading() as transaction:
        samples = parse(metrics_text(transaction, START_MS).decode())
    assert by(samples["arenite_fleet_crashes_total"], "cause") == {"watchdog": 2, "fault": 1, "unknown": 1}
    assert by(samples["arenite_fleet_crashes_total"], "release") == {"1": 4}


def test_an_empty_database_has_metrics(database: Database) -> None:
    with database.reading() as transaction:
        samples = parse(metrics_text(transaction, START_MS).decode())
    assert samples["arenite_fleet_events_stored_total"][frozenset()] == 0


def test_every_query_of_the_grafana_dashboard_has_a_metric(samples: Samples) -> None:
    dashboard = json.loads((ROOT / "examples/fleet-grafana.json").read_text("utf-8"))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [
        variable["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"
    ]
    assert len(queries) >= 10
    used = set()
    for query in queries:
        names = re.findall(r"\barenite_\w+", query)
        assert names, query
        used |= set(names)
        for name, labels in re.findall(r"(arenite_\w+)\{([^}]*)\}", query):
            known = {label for sample in samples[name] for label, _ in sample}
            assert set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels)) <= known, query
        for group in re.findall(r"\b(?:by|on) ?\(([^)]*)\)", query):
            known = {label for name in names for sample in samples[name] for label, _ in sample}
            assert {label.strip() for label in group.split(",")} <= known, query
    assert used <= set(samples)
    # The page of the documentation describes each metric that there is.
    page = (ROOT / "docs/fleet.md").read_text("utf-8")
    families = {re.sub(r"_(bucket|count)$", "", name) for name in samples}
    assert families == set(re.findall(r"^\| `(arenite_fleet_\w+)`", page, re.MULTILINE))
