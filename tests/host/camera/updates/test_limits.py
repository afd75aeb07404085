"""The limits that a new version of a model must keep, and the figures that they look at."""

from __future__ import annotations

from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.updates.limits import UpdateLimits
from arenite.host.camera.updates.power_phases import PowerPhases
from arenite.host.camera.updates.serving_times import ServingTimes, latency_json, percentile

LIMITS = UpdateLimits(latency_ms=33.0, min_agreement=0.8)


def test_a_slow_model_breaks_the_latency_limit() -> None:
    old = [10.0] * 100
    assert LIMITS.broken_by_times([20.0, 30.0, 500.0], old) is None  # the median counts
    assert "34.00 ms" in (LIMITS.broken_by_times([34.0] * 3, old) or "")
    assert LIMITS.broken_by_ages([30.0] * 96 + [50.0] * 4, old) is None
    assert "50.00 ms" in (LIMITS.broken_by_ages([30.0] * 94 + [50.0] * 6, old) or "")
    assert LIMITS.broken_by_ages([], old) is None


def test_a_limit_that_the_model_before_breaks_too_is_its_own_figure() -> None:
    old = [60.0] * 100
    assert LIMITS.broken_by_ages([55.0] * 100, old) is None
    assert "limit is 60.00 ms" in (LIMITS.broken_by_ages([61.0] * 100, old) or "")
    unlimited = UpdateLimits(None, 0.8)
    assert unlimited.broken_by_ages([1e6], old) is None and unlimited.broken_by_times([1e6], old) is None


def test_agreement() -> None:
    assert LIMITS.broken_by_agreement([]) is None
    assert LIMITS.broken_by_agreement([1.0, 1.0, 1.0, 0.2]) is None
    assert "agreed to 0.700" in (LIMITS.broken_by_agreement([1.0, 0.4]) or "")


def test_times_of_each_model() -> None:
    times = ServingTimes()
    for k, (model, by) in enumerate([("a", "model"), ("a", "motion"), ("b", "model")]):
        spans = {"capture": (1_000_000 * k, 2_000_000 * k + 1_000_000)}
        times.take(ServedFrame(k, 0, k, 0, spans, None, by=by, model=model), None)
    assert times.ages_ms("a") == [1.0] and times.totals_ms("b") == [3.0] and times.ages_ms("b") == [5.0]
    times.forget("a")
    assert times.ages_ms("a") == []
    assert percentile([], 0.5) is None and percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert latency_json([]) == {"frames": 0, "p50": None, "p95": None, "p99": None}


def test_power_of_each_phase() -> None:
    power = PowerPhases()

    def read(watts: float, kind: str) -> None:
        power.update({"power": {"value": watts, "kind": kind}})

    power.begin("before")
    for watts in (9.0, 2.0, 4.0):  # the first reading covers time before the phase
        read(watts, "measured")
    power.update({})
    power.begin("shadow")
    assert power.to_json("before", "shadow") == {"before": 3.0, "shadow": None, "kind": "measured"}
    read(9.0, "estimated")
    read(5.0, "estimated")
    assert power.to_json("before", "shadow") == {"before": 3.0, "shadow": 5.0, "kind": "estimated"}
    power.begin("shadow")
    assert power.to_json("shadow") == {"shadow": None, "kind": "unknown"}
