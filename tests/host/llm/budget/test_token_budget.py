"""The camera's governor keeps limits while tokens are decoded, on simulated computers in virtual time. The budget reads
the sensor files that the simulated computer writes, and moves the lever of the clock by its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.host.governor.interface import Limits
from arenite.host.llm.budget.pieces import Piece, decode_in_pieces
from arenite.host.llm.budget.result import BudgetResult, GovernedRun
from arenite.host.llm.budget.token_budget import TokenBudget
from arenite.host.llm.budget.token_rate import TokenRate
from benchmarks.language_models.simulated_computer import CountingRuntime, SimulatedComputer, SimulatedWork

#: A Jetson Nano whose cores all compute draws about 4.9 W.
NANO, TOKEN_S = "jetson_nano", 0.1


def run(computer: SimulatedComputer, budget: TokenBudget, tokens: int, prompt: int = 200) -> GovernedRun:
    """Decode ``tokens`` tokens after a prompt of ``prompt``, and check that all were decoded."""
    work = SimulatedWork(computer, budget)
    decoded = list(decode_in_pieces(CountingRuntime(1 << 20), range(prompt), tokens, work))
    assert [token for piece in decoded for token in piece] == list(range(prompt, prompt + tokens))
    return budget.result()


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_pauses_keep_a_power_limit_and_use_it(tmp_path: Path) -> None:
    free, computer = (
        SimulatedComputer(NANO, TOKEN_S, tmp_path / "a"),
        SimulatedComputer(NANO, TOKEN_S, tmp_path / "b"),
    )
    free.compute(200)
    budget = computer.budget(Limits(power_w=4.0))
    result = run(computer, budget, 600)
    half = computer.watts[len(computer.watts) // 2 :]
    assert mean(free.watts) > 4.5 and 0.9 * 4.0 < mean(half) <= 4.0
    assert [(check.limit, check.kind, check.kept) for check in budget.checks()] == [
        ("power", "measured", True)
    ]
    assert result.pauses > 100 and result.full_tokens_s == pytest.approx(10)
    assert result.steady_tokens_s == pytest.approx(10, rel=0.01)
    assert result.tokens_s is not None and result.lost is not None and 0.2 < result.lost < 0.6
    assert result.power is not None and result.power.kind == "measured" and "INA3221" in result.power.source
    # The clock and the pauses account for all of the time.
    assert computer.now_s == pytest.approx(computer.computed_s + result.paused_s)
    assert result.actions[0].reason == "starts at a low rate because the cost of a token is not known yet"
    assert any("tokens/s" in action.reason for action in result.actions)


def test_a_budget_that_is_enough_ends_without_pauses(tmp_path: Path) -> None:
    computer = SimulatedComputer(NANO, TOKEN_S, tmp_path)
    budget = computer.budget(Limits(power_w=9.0))
    run(computer, budget, 200)
    paused_s = budget.result().paused_s
    later = run(computer, budget, 100)
    assert later.paused_s == paused_s and later.settings["tokens_s"] == pytest.approx(10)


def test_the_clock_is_a_lever_and_is_given_back(tmp_path: Path) -> None:
    computer = SimulatedComputer("laptop", TOKEN_S, tmp_path)
    cap = tmp_path / "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"
    highest = int(cap.read_text())
    budget = computer.budget(Limits(power_w=12.0), sets_frequency=True)
    result = run(computer, budget, 400)
    assert {action.lever for action in result.actions} == {"fps", "frequency"}
    assert int(cap.read_text()) == round(1000 * float(result.settings["frequency"])) < highest
    # The slower clock makes tokens slower, which is no loss by pauses.
    assert result.steady_tokens_s is not None and result.steady_tokens_s < 0.95 * result.full_tokens_s
    assert mean(computer.watts[len(computer.watts) // 2 :]) <= 12.0
    budget.close()
    assert int(cap.read_text()) == highest


@pytest.mark.slow
def test_pauses_keep_a_temperature_limit(tmp_path: Path) -> None:
    free, computer = (
        SimulatedComputer("phone", 0.05, tmp_path / "a"),
        SimulatedComputer("phone", 0.05, tmp_path / "b"),
    )
    free.compute(12_000)
    result = run(computer, computer.budget(Limits(temperature_c=40.0)), 12_000)
    assert max(free.celsius) > 42 and max(computer.celsius) <= 40.0
    assert result.celsius is not None and result.celsius.first < result.celsius.last <= 40.0
    assert result.pauses > 0 and result.thermometer == "skin-therm"


def test_a_limit_without_its_sensor_is_told(tmp_path: Path) -> None:
    computer = SimulatedComputer("raspberry_pi_5", TOKEN_S, tmp_path)  # has no power sensor
    (tmp_path / "sys/class/thermal/thermal_zone0/temp").unlink()
    budget = computer.budget(Limits(power_w=5.0, temperature_c=60.0))
    result = run(computer, budget, 100)
    assert [(check.kind, check.kept) for check in budget.checks()] == [("estimated", None), ("unknown", None)]
    assert result.power is not None and result.power.kind == "estimated" and result.power.watts <= 5.0
    assert any("temperature" in note for note in result.notes)


def test_a_lost_power_sensor_is_replaced_by_the_estimate(tmp_path: Path) -> None:
    computer = SimulatedComputer(NANO, TOKEN_S, tmp_path)
    budget = computer.budget(Limits(power_w=4.0))
    run(computer, budget, 100)
    for file in (tmp_path / "sys/class/hwmon/hwmon1").iterdir():
        file.unlink()
    (tmp_path / "sys/class/hwmon/hwmon1").rmdir()
    computer.device.sysfs.write = lambda **_: None  # type: ignore[method-assign]
    result = run(computer, budget, 200)
    assert result.power is not None and result.power.kind == "estimated" and "estimate" in result.power.source
    assert [check.kept for check in budget.checks()] == [None]


def test_the_wait_for_a_question_is_no_work(tmp_path: Path) -> None:
    computer = SimulatedComputer(NANO, TOKEN_S, tmp_path)
    budget = computer.budget(Limits(power_w=4.0))
    first = run(computer, budget, 300)
    computer.sleep(120)
    budget.resume()
    second = run(computer, budget, 300)
    assert first.power is not None and second.power is not None
    # Two minutes at 2.1 W would bring the mean near 3 W.
    assert second.power.watts > 0.95 * first.power.watts
    assert second.celsius is not None and second.celsius.last < second.celsius.highest + 0.5
    assert mean(computer.watts[-200:]) <= 4.0


def test_pieces_are_short_at_a_low_rate() -> None:
    rate = TokenRate(0.01)
    lever = rate.lever()
    assert rate.sizes.tokens == 25 and rate.cycle_s(25) == 0
    lever.move(lever.levels - 1)
    assert rate.sizes.tokens == 1 and rate.sizes.prompt == 16
    assert rate.cycle_s(1) == pytest.approx(0.4)  # a fortieth of 100 tokens/s
    # A prompt is counted in decoded tokens that take as long.
    assert rate.measure(Piece(100, 0, 0.05)) == pytest.approx(5)


def test_a_result_names_the_limits_the_pauses_and_the_loss(tmp_path: Path) -> None:
    computer = SimulatedComputer(NANO, TOKEN_S, tmp_path)
    budget = computer.budget(Limits(power_w=4.0, temperature_c=90.0))
    governed = run(computer, budget, 200)
    result = BudgetResult(budget.checks(), governed)
    text = "\n".join(result.sentences())
    assert (
        result.is_kept
        and "Limit of power, 4 W: kept (" in text
        and "Limit of temperature, 90 °C: kept" in text
    )
    assert f"{governed.pauses:,} pauses of {governed.paused_s:.1f} s together: " in text and "% lost" in text
    content = result.to_json()
    assert content["kept"] and content["governor"]["actions"][0]["lever"] == "tokens_s"
    assert content["governor"]["pauses"]["count"] == governed.pauses
