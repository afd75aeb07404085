"""Metrics of the sums of what devices report: totals, crashes, latencies and drift."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.samples import Sample

from arenite.host.fleet.cohorts import CRASHES_BY_CAUSE, Cohort
from arenite.host.fleet.database import Transaction
from arenite.host.fleet.drift import psi, reference_histograms
from arenite.host.fleet.latency_histogram import BUCKETS, upper_bound_us

PREFIX = "arenite_fleet_"
#: The labels of a cohort.
COHORT = ("release", "board", "group")
#: The label of a device that has not told its release yet.
UNKNOWN_RELEASE = "unknown"
#: Drift is that of the events of this time, so that what devices saw earlier does not hide it.
DRIFT_MS = 24 * 3600 * 1000
#: The last of each two stored buckets is a bound of the metric. Its buckets are at most 50 % wide.
_BOUNDS = range(1, BUCKETS - 1, 2)

Cohorts = Mapping[tuple[str, str, str], Cohort]


def total_families(cohorts: Cohorts) -> Iterator[Metric]:
    """Yield the sums of heartbeats, time, inferences and crashes."""
    heartbeats = CounterMetricFamily(PREFIX + "heartbeats", "Heartbeats of devices.", labels=COHORT)
    covered = CounterMetricFamily(
        PREFIX + "covered_seconds", "Time of devices that their heartbeats cover.", labels=COHORT
    )
    inferences = CounterMetricFamily(PREFIX + "inferences", "Inferences of devices.", labels=COHORT)
    crashes = CounterMetricFamily(
        PREFIX + "crashes", "Crashes of a release, by the cause of the reset.", labels=(*COHORT, "cause")
    )
    for labels, cohort in cohorts.items():
        totals = cohort.totals
        heartbeats.add_metric(labels, totals["heartbeats"])
        covered.add_metric(labels, totals["covered_ms"] / 1000)
        inferences.add_metric(labels, totals["inferences"])
        causes = {cause: totals[quantity] for cause, quantity in CRASHES_BY_CAUSE.items()}
        # An older Arenite stored crashes without their causes.
        causes |= {"unknown": totals["crashes"] - sum(causes.values())}
        for cause, count in causes.items():
            crashes.add_metric((*labels, cause), count)
    yield from (heartbeats, covered, inferences, crashes)


def latency_family(transaction: Transaction, cohorts: Cohorts) -> Metric:
    """Return the histograms of latencies of the releases that devices run."""
    family = HistogramMetricFamily(
        PREFIX + "latency_seconds",
        "Latency of inferences, of the releases that devices run. It has no sum, because devices report no sum.",
    )
    running = {row[0] for row in transaction.query("SELECT DISTINCT release FROM devices")}
    for (release, board), cohort in _without_groups(cohorts).items():
        if release not in running:
            continue
        labels = {"release": release, "board": board}
        counts = cohort.counts("latency", BUCKETS)
        name = family.name + "_bucket"
        for bucket in _BOUNDS:
            bound = {"le": repr(upper_bound_us(bucket) / 1e6)}
            family.samples.append(Sample(name, labels | bound, sum(counts[: bucket + 1])))
        family.samples.append(Sample(name, labels | {"le": "+Inf"}, sum(counts)))
        family.samples.append(Sample(family.name + "_count", labels, sum(counts)))
    return family


def drift_family(transaction: Transaction, cohorts: Cohorts) -> Metric:
    """Return the population stability index of the classes and of each statistic of the inputs against the calibration
    data."""
    family = GaugeMetricFamily(
        PREFIX + "drift_psi",
        "Population stability index of the last 24 hours against the calibration data.",
        labels=("release", "board", "quantity"),
    )
    references = {
        (release, board): json.loads(text)
        for release, board, text in transaction.query("SELECT release, board, reference FROM release_images")
    }
    for key, cohort in _without_groups(cohorts).items():
        reference = references.get(key)
        for quantity, expected in reference_histograms(reference).items() if reference is not None else ():
            counts = cohort.counts(quantity, len(expected))
            if sum(counts):
                family.add_metric((*key, quantity), psi(counts, expected))
    return family


def _without_groups(cohorts: Cohorts) -> dict[tuple[str, str], Cohort]:
    """Return the sums for each (release, board)."""
    result: dict[tuple[str, str], Cohort] = {}
    for (release, board, _), cohort in cohorts.items():
        result.setdefault((release, board), Cohort()).add(cohort)
    return result
