"""Each gate stops what it should stop, and lets the rest pass."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from arenite.errors import UsageError
from arenite.host.fleet.cohorts import Cohort
from arenite.host.fleet.gates import BoardFacts, GateResult, check_gates
from arenite.host.fleet.latency_histogram import bucket_of
from arenite.host.fleet.rollout_settings import RolloutSettings, settings_from_json

HOUR_MS = 3_600_000
SETTINGS = RolloutSettings()
REFERENCE = {"inputs": [[100, 200, 100]], "classes": [50, 30, 20]}


def cohort(
    *,
    crashes: int = 0,
    hours: int = 100,
    latency_us: int = 1000,
    inferences: int = 1000,
    classes: tuple[int, ...] = (50, 30, 20),
) -> Cohort:
    histograms = {
        "latency": Counter({bucket_of(latency_us): inferences}),
        "classes": Counter({k: inferences * share // 100 for k, share in enumerate(classes)}),
        "inputs.0": Counter({0: inferences // 4, 1: inferences // 2, 2: inferences // 4}),
    }
    totals = Counter(heartbeats=4 * hours, covered_ms=hours * HOUR_MS, inferences=inferences, crashes=crashes)
    return Cohort(totals, histograms)


def facts(**fields: object) -> BoardFacts:
    result = BoardFacts("b", chosen=10, installed=10, seen=10, others=1000, reference=REFERENCE)
    result.new, result.other = cohort(hours=40), cohort(crashes=20, hours=24_000, inferences=100_000)
    for name, value in fields.items():
        setattr(result, name, value)
    return result


def violated(board_facts: BoardFacts, settings: RolloutSettings = SETTINGS) -> set[str]:
    return {result.gate for result in check_gates(board_facts, settings) if result.is_violated}


def result_of(board_facts: BoardFacts, gate: str) -> GateResult:
    return next(result for result in check_gates(board_facts, SETTINGS) if result.gate == gate)


def test_a_good_release_passes() -> None:
    results = check_gates(facts(), SETTINGS)
    assert {result.gate for result in results} == {
        *("golden", "installations", "silence", "crashes", "latency", "drift.classes", "drift.inputs.0")
    }
    assert not any(result.is_violated for result in results)
    assert all(result.has_enough for result in results)


def test_one_golden_failure_is_too_many() -> None:
    assert violated(facts(golden_failures=1)) == {"golden"}
    assert violated(facts(golden_failures=1), RolloutSettings(golden_failures=1)) == set()


@pytest.mark.parametrize(
    ("installed", "failed", "is_violated"),
    [(0, 0, False), (99, 1, False), (9, 1, False), (0, 1, True), (8, 2, True), (98, 2, False), (94, 6, True)],
)
def test_failed_installations(installed: int, failed: int, is_violated: bool) -> None:
    assert ("installations" in violated(facts(installed=installed, failed=failed))) == is_violated


def test_silence_is_compared_with_that_of_other_devices() -> None:
    assert violated(facts(silent=2)) == set()
    assert violated(facts(silent=3)) == {"silence"}
    assert violated(facts(silent=3, others_silent=150)) == set()


def test_crashes_are_compared_with_those_of_other_releases() -> None:
    assert violated(facts(new=cohort(crashes=1, hours=40))) == set()
    assert violated(facts(new=cohort(crashes=3, hours=40))) == {"crashes"}
    assert violated(facts(new=cohort(crashes=3, hours=4000))) == set()
    # Crashes that are as frequent as before.
    often = cohort(crashes=24_000, hours=24_000, inferences=100_000)
    assert violated(facts(new=cohort(crashes=40, hours=40), other=often)) == set()
    assert violated(facts(new=cohort(crashes=90, hours=40), other=often)) == {"crashes"}
    # Nothing is known of other releases.
    assert violated(facts(new=cohort(crashes=2), other=Cohort())) == {"crashes"}
    assert not result_of(facts(new=Cohort()), "crashes").has_enough


def test_latency() -> None:
    assert violated(facts(new=cohort(latency_us=1250))) == set()  # the next bucket
    assert violated(facts(new=cohort(latency_us=1700))) == {"latency"}
    assert violated(facts(new=cohort(latency_us=1700), other=Cohort())) == set()
    assert not result_of(facts(new=cohort(inferences=100)), "latency").has_enough
    # Three slow inferences of a hundred are chance; eight are not.
    for slow, gates in ((3, set()), (8, {"latency"})):
        new = cohort(inferences=100)
        new.histograms["latency"] = Counter({bucket_of(1000): 100 - slow, bucket_of(9000): slow})
        assert violated(facts(new=new)) == gates


def test_drift() -> None:
    drifting = cohort(classes=(20, 20, 60))
    assert violated(facts(new=drifting)) == {"drift.classes"}
    # The devices with the other releases see the same.
    world = cohort(classes=(20, 20, 60), inferences=100_000)
    assert violated(facts(new=drifting, other=world, other_reference=REFERENCE)) == set()
    assert violated(facts(new=drifting, other_reference=REFERENCE)) == {"drift.classes"}
    elsewhere = cohort(classes=(80, 15, 5), inferences=100_000)  # they have drifted to another side
    assert violated(facts(new=drifting, other=elsewhere, other_reference=REFERENCE)) == {"drift.classes"}
    assert violated(facts(new=drifting, reference=None)) == set()
    assert not result_of(facts(new=cohort(inferences=100)), "drift.classes").has_enough
    assert not result_of(facts(new=Cohort()), "drift.classes").has_enough


def test_chance_is_no_drift() -> None:
    """Samples of the reference's own distribution pass, also if they are few."""
    source = random.Random(0)
    reference = [5, 20, 60, 130, 200, 260, 260, 200, 130, 60, 20, 5, 1, 0, 0, 0]
    for inferences in [10, 30, 100, 300, 1000] * 40:
        new = cohort()
        new.histograms["classes"] = Counter(source.choices(range(16), reference, k=inferences))
        board_facts = facts(new=new, reference={"inputs": [], "classes": reference})
        assert violated(board_facts) == set()
        assert result_of(board_facts, "drift.classes").has_enough == (inferences >= 300)


def test_sums_of_large_fleets_are_compared_too() -> None:
    large = cohort(inferences=10**13)
    assert violated(facts(new=large)) == set()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"speed": 3}, "no setting 'speed'"),
        ({"soak_s": "3"}, "'soak_s' has the value '3'"),
        ({"soak_s": 1.5}, "'soak_s' has the value 1.5"),
        ({"soak_s": True}, "'soak_s' has the value True"),
        ({"waves": [10, 5, 1000]}, "do not grow"),
        ({"waves": [0, 1000]}, "do not grow"),
        ({"waves": []}, "do not grow"),
        ({"waves": [10, 100]}, "ends at 100"),
        ({"completion": 1.5}, "'completion' has the value 1.5"),
        ({"crash_ratio": float("nan")}, "'crash_ratio' has the value nan"),
    ],
    ids=range(10),
)
def test_bad_settings_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        settings_from_json(fields)


def test_settings_survive_a_round_trip() -> None:
    settings = RolloutSettings(waves=(5, 1000), soak_s=7, drift_psi=1)
    assert settings_from_json(settings.to_json()) == settings
