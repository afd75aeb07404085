"""The metrics of a fleet for Prometheus. All are computed from the database when they are asked for.

As Prometheus recommends, units are base units (seconds), and the names of counters end in ``_total``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from arenite.host.fleet.cohorts import read_all_cohorts
from arenite.host.fleet.database import Transaction
from arenite.host.fleet.device_presence import PRESENCE_SQL, silent_before
from arenite.host.fleet.fleet_status import count_events, gate_results
from arenite.host.fleet.rollout import STATES, device_states
from arenite.host.fleet.rollout_waves import current_rollouts
from arenite.host.fleet.web.cohort_metrics import (
    COHORT,
    DRIFT_MS,
    PREFIX,
    UNKNOWN_RELEASE,
    drift_family,
    latency_family,
    total_families,
)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ROLLOUT = ("rollout", "release", "group")


def metrics_text(transaction: Transaction, now_ms: int) -> bytes:
    """Return all metrics in Prometheus' text format 0.0.4."""
    return generate_latest(_Families([*_families(transaction, now_ms)]))


class _Families(Collector):
    """Metrics that are complete."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _families(transaction: Transaction, now_ms: int) -> Iterator[Metric]:
    yield from _device_families(transaction, now_ms)
    yield from _event_families(transaction)
    cohorts = read_all_cohorts(transaction)
    yield from total_families(cohorts)
    yield latency_family(transaction, cohorts)
    yield drift_family(transaction, read_all_cohorts(transaction, now_ms - DRIFT_MS))
    yield from _rollout_families(transaction, now_ms)


def _device_families(transaction: Transaction, now_ms: int) -> Iterator[Metric]:
    devices = GaugeMetricFamily(
        PREFIX + "devices",
        "Devices by state: online, silent (no event for an hour), or offline.",
        labels=("state", *COHORT),
    )
    for state, release, board, group, count in transaction.query(
        f"SELECT {PRESENCE_SQL} AS presence, release, board, group_name, count(*) FROM devices"
        " GROUP BY presence, release, board, group_name ORDER BY presence, release, board, group_name",
        (silent_before(now_ms),),
    ):
        devices.add_metric((state, release or UNKNOWN_RELEASE, board, group), int(count))
    yield devices
    served = GaugeMetricFamily(
        PREFIX + "served_timestamp_seconds", "Unix time at which a server was last connected to the broker."
    )
    for (served_ms,) in transaction.query("SELECT served_ms FROM fleet"):
        served.add_metric((), served_ms / 1000)
    yield served


def _event_families(transaction: Transaction) -> Iterator[Metric]:
    events = count_events(transaction)
    yield CounterMetricFamily(
        PREFIX + "events_stored",
        "Events that were stored, each once; also those that were deleted since.",
        value=events.stored,
    )
    # An event that arrives late makes the number smaller, so it is no counter.
    yield GaugeMetricFamily(
        PREFIX + "events_lost",
        "Events that devices dropped because their stores were full.",
        value=events.lost,
    )


def _rollout_families(transaction: Transaction, now_ms: int) -> Iterator[Metric]:
    counts = {
        state: int(count)
        for state, count in transaction.query("SELECT state, count(*) FROM rollouts GROUP BY state")
    }
    rollouts = GaugeMetricFamily(PREFIX + "rollouts", "Rollouts by state.", labels=("state",))
    for state in STATES:
        rollouts.add_metric((state,), counts.get(state, 0))
    about = " of each rollout that has not ended, or else of the newest one"
    wave = GaugeMetricFamily(PREFIX + "rollout_wave", f"Present wave{about}, from 1 on.", labels=_ROLLOUT)
    waves = GaugeMetricFamily(PREFIX + "rollout_waves", f"Number of waves{about}.", labels=_ROLLOUT)
    devices = GaugeMetricFamily(
        PREFIX + "rollout_devices",
        f"Devices that were given the release, by state,{about}.",
        labels=(*_ROLLOUT, "state"),
    )
    gate_labels = (*_ROLLOUT, "board", "gate")
    values = GaugeMetricFamily(
        PREFIX + "gate_value",
        "Figure of each gate that has data, of rollouts that run or are paused.",
        labels=gate_labels,
    )
    limits = GaugeMetricFamily(
        PREFIX + "gate_limit", "Limit of each gate, of rollouts that run or are paused.", labels=gate_labels
    )
    for rollout in current_rollouts(transaction):
        labels = (str(rollout.id), rollout.release, rollout.group)
        wave.add_metric(labels, rollout.wave + 1)
        waves.add_metric(labels, len(rollout.settings.waves))
        for state, count in sorted(device_states(transaction, rollout.id).items()):
            devices.add_metric((*labels, state), count)
        if rollout.state not in ("running", "paused"):
            continue
        for gate in gate_results(transaction, now_ms, rollout):
            if gate.value is not None:
                values.add_metric((*labels, gate.board, gate.gate), gate.value)
            limits.add_metric((*labels, gate.board, gate.gate), gate.limit)
    yield from (rollouts, wave, waves, devices, values, limits)
