"""The gates of a rollout: figures of the new release against those of the other releases on the same kind of
board."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from arenite.host.fleet.cohorts import Cohort
from arenite.host.fleet.drift import psi, reference_histograms
from arenite.host.fleet.latency_histogram import BUCKETS, percentile_us, upper_bound_us
from arenite.host.fleet.rollout_settings import RolloutSettings

#: Crashes and slow inferences count as too many only if their number is less probable than this with the other
#: releases. The same for the standard deviations of a normal variable.
_PROBABILITY = 1e-4
_DEVIATIONS = 3.719
_MIN_CRASHES = 2
_MIN_FAILURES = 2


@dataclass(slots=True)
class BoardFacts:
    """What is known of one kind of board: the devices that the rollout chose, and the sums of both cohorts."""

    board: str
    chosen: int = 0
    installed: int = 0
    failed: int = 0
    golden_failures: int = 0
    #: Devices that were seen shortly before they were chosen, and those of them that are silent.
    seen: int = 0
    silent: int = 0
    #: The same of devices that the rollout has not chosen, or that it chose in the last minutes.
    others: int = 0
    others_silent: int = 0
    new: Cohort = field(default_factory=Cohort)
    other: Cohort = field(default_factory=Cohort)
    reference: dict[str, Any] | None = None
    other_reference: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class GateResult:
    """``is_violated``: the rollout must stop. ``has_enough``: there is enough data to pass. ``value`` is None without
    data."""

    gate: str
    board: str
    value: float | None
    limit: float
    is_violated: bool
    has_enough: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "gate": self.gate,
            "board": self.board,
            "value": self.value,
            "limit": self.limit,
            "violated": self.is_violated,
            "enough": self.has_enough,
        }


def check_gates(facts: BoardFacts, settings: RolloutSettings) -> list[GateResult]:
    """Return the result of each gate for one kind of board."""
    return [
        _golden(facts, settings),
        _installations(facts, settings),
        _silence(facts, settings),
        _crashes(facts, settings),
        _latency(facts, settings),
        *_drift(facts, settings),
    ]


def _golden(facts: BoardFacts, settings: RolloutSettings) -> GateResult:
    failures, limit = facts.golden_failures, settings.golden_failures
    return GateResult("golden", facts.board, failures, limit, failures > limit)


def _installations(facts: BoardFacts, settings: RolloutSettings) -> GateResult:
    finished = facts.failed + facts.installed
    share = facts.failed / finished if finished else None
    # One failure of many devices is chance. One failure of one device is all that is known.
    is_violated = (
        share is not None
        and share > settings.failed_share
        and (facts.failed >= _MIN_FAILURES or facts.failed == finished)
    )
    return GateResult("installations", facts.board, share, settings.failed_share, is_violated)


def _silence(facts: BoardFacts, settings: RolloutSettings) -> GateResult:
    share = facts.silent / facts.seen if facts.seen else None
    elsewhere = facts.others_silent / facts.others if facts.others else 0.0
    limit = min(settings.silent_share + elsewhere, 1.0)
    return GateResult("silence", facts.board, share, limit, share is not None and share > limit)


def _crashes(facts: BoardFacts, settings: RolloutSettings) -> GateResult:
    crashes, covered = facts.new.totals["crashes"], facts.new.totals["covered_ms"]
    other_crashes, other_covered = facts.other.totals["crashes"], facts.other.totals["covered_ms"]
    # One crash is added to those of the other releases, because none in a short time does not mean that there is
    # never one.
    rate = (other_crashes + 1) / max(other_covered, 1)
    expected = rate * covered if other_covered else 0.0
    limit = settings.crash_ratio * expected
    is_violated = (
        crashes >= _MIN_CRASHES and crashes > limit and _poisson_tail(crashes, expected) < _PROBABILITY
    )
    has_enough = facts.new.totals["heartbeats"] >= settings.min_heartbeats
    return GateResult("crashes", facts.board, crashes, limit, is_violated, has_enough)


def _latency(facts: BoardFacts, settings: RolloutSettings) -> GateResult:
    new, other = (cohort.counts("latency", BUCKETS) for cohort in (facts.new, facts.other))
    has_enough = sum(new) >= settings.min_inferences
    ratio, is_violated = None, False
    own, others = percentile_us(new, 99), percentile_us(other, 99)
    if own is not None and others is not None and sum(other) >= settings.min_inferences:
        ratio = own / max(others, 1)
        # One of a hundred latencies of the other releases is above their percentile. A few slow inferences are
        # chance.
        slow = sum(
            count for k, count in enumerate(new) if upper_bound_us(k) > settings.latency_ratio * others
        )
        is_violated = ratio > settings.latency_ratio and _poisson_tail(slow, sum(new) / 100) < _PROBABILITY
    return GateResult("latency", facts.board, ratio, settings.latency_ratio, is_violated, has_enough)


def _drift(facts: BoardFacts, settings: RolloutSettings) -> list[GateResult]:
    if facts.reference is None:
        return []
    results = []
    for quantity, reference in reference_histograms(facts.reference).items():
        counts = facts.new.counts(quantity, len(reference))
        if not sum(counts):
            has_enough = settings.min_inferences == 0
            results.append(
                GateResult(f"drift.{quantity}", facts.board, None, settings.drift_psi, False, has_enough)
            )
            continue
        value, noise = psi(counts, reference), _psi_noise(counts, reference)
        limit = settings.drift_psi + noise
        is_violated = value > limit and not _has_world_drifted(facts, settings, quantity, counts)
        has_enough = sum(counts) >= settings.min_inferences and noise <= settings.drift_psi
        results.append(GateResult(f"drift.{quantity}", facts.board, value, limit, is_violated, has_enough))
    return results


def _has_world_drifted(
    facts: BoardFacts, settings: RolloutSettings, quantity: str, counts: list[int]
) -> bool:
    """Return whether the other releases have drifted too, and see the same as the new one."""
    reference = (
        reference_histograms(facts.other_reference).get(quantity)
        if facts.other_reference is not None
        else None
    )
    others = facts.other.counts(quantity, len(counts))
    if reference is None or len(reference) != len(counts) or not sum(others):
        return False
    is_alike = psi(counts, others) <= settings.drift_psi + _psi_noise(counts, others)
    return is_alike and psi(others, reference) > settings.drift_psi


def _psi_noise(counts: list[int], reference: list[int]) -> float:
    """Return what the index stays below, but for one case in 10,000, if both histograms come from the same
    distribution.

    Then the index is about a chi-square variable, divided by the numbers of samples. Its quantile is the
    approximation of Wilson and Hilferty.
    """
    return _chi_square_quantile(len(counts)) * (1 / sum(counts) + 1 / max(sum(reference), 1))


def least_reference_samples(bins: int, drift_psi: float) -> int:
    """Return the least number of samples of a histogram of calibration data with which a gate of drift can pass, if the
    devices send many inferences."""
    return math.floor(_chi_square_quantile(bins) / drift_psi) + 1


def _chi_square_quantile(bins: int) -> float:
    freedom = max(bins - 1, 1)
    return freedom * (1 - 2 / (9 * freedom) + _DEVIATIONS * math.sqrt(2 / (9 * freedom))) ** 3


def _poisson_tail(count: int, expected: float) -> float:
    """Return the probability of at least ``count`` events where ``expected`` are expected."""
    if count <= 0:
        return 1.0
    if expected <= 0:
        return 0.0
    # The terms from ``count`` on. They fall quickly, because this is called only if ``count`` is above ``expected``.
    term = math.exp(count * math.log(expected) - expected - math.lgamma(count + 1))
    total, k = 0.0, count
    while term > 1e-18 * max(total, 1e-300) and k < count + 10_000:
        total += term
        k += 1
        term *= expected / k
    return min(total, 1.0)
