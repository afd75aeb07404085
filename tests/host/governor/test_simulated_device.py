"""The governor keeps its limits on simulated devices at 35 °C ambient temperature, for thirty minutes each."""

from __future__ import annotations

import json
from functools import cache

import pytest

from benchmarks.camera.governor import ALL, SCENARIOS, GovernorRun, Scenario, main, simulate, targets


@cache
def ungoverned(name: str) -> GovernorRun:
    """Return the run of a scenario without a governor."""
    return simulate(next(s for s in SCENARIOS if s.name == name), ())


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_limits_are_kept_with_more_frames_than_without_a_governor(scenario: Scenario) -> None:
    ungoverned_run, run = ungoverned(scenario.name), simulate(scenario, ALL)
    assert targets(run, ungoverned_run, scenario.limits) == dict.fromkeys(
        targets(run, ungoverned_run, scenario.limits), True
    )
    assert run.throttled_s == 0
    assert run.busiest_minute <= 24 and run.actions <= 120


@pytest.mark.slow
def test_the_boxed_nano_and_the_phone_throttle_when_ungoverned() -> None:
    """Without the governor, these devices throttle for more than five minutes. Otherwise the comparison with an
    ungoverned device would show nothing."""
    for scenario in SCENARIOS:
        if scenario.box_k_w or scenario.host == "phone":
            assert ungoverned(scenario.name).throttled_s > 300


def test_the_benchmark_prints_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--json", "--minutes", "1", "--no-ablation"])
    rows = json.loads(capsys.readouterr().out)["runs"]
    assert len(rows) == 2 * len(SCENARIOS)
    assert rows[1]["levers"] == list(ALL) and rows[1]["kept"]["power"] and rows[1]["log"]


@pytest.mark.slow
def test_the_frame_rate_lever_alone_keeps_the_limit() -> None:
    scenario = SCENARIOS[0]
    run = simulate(scenario, ("fps",), minutes=8)
    assert run.worst_w <= scenario.limits.power_w  # type: ignore[operator]
    assert run.settings["levers"].keys() == {"fps"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3, 4])
def test_the_first_half_minute_serves_frames_and_keeps_the_budget(seed: int) -> None:
    """The simulated devices with seeds 3 and 4 differ from their host profiles by up to a quarter."""
    min_frames = {"Nano in a box, 4.5 W": 370, "Nano, 5 W, 70 °C, 50 ms": 500, "phone, 1.3 W": 450}
    for scenario in SCENARIOS:
        if scenario.limits.power_w is not None:
            run = simulate(scenario, ALL, minutes=0.5, seed=seed)
            assert run.frames >= min_frames[scenario.name]
            assert run.worst_w <= scenario.limits.power_w
            assert run.log[1]["t_s"] == 1.0, "the first rate is corrected after one second"
