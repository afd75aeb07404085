"""Keep budgets of a language model on simulated computers: ``python -m benchmarks.language_models.budget [--json]``.

Each computer decodes for ten minutes of virtual time within its limits, and as long without limits. The budget reads
the sensor files that the simulated computer writes with noise and rounding. Limits are compared with the true values:
power with the highest mean of ten seconds after the first half minute, temperature with the highest of any quarter
second.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from arenite.host.energy.simulated_device import STEP_S
from arenite.host.governor.interface import Limits
from arenite.host.llm.budget.pieces import decode_in_pieces
from benchmarks.language_models.simulated_computer import CountingRuntime, SimulatedComputer, SimulatedWork

MINUTES, PROMPT = 10, 200
#: Steps of the simulated device in the first half minute, and in ten seconds.
_START, _WINDOW = round(30 / STEP_S), round(10 / STEP_S)


@dataclass(frozen=True)
class Scenario:
    """A computer of the profile ``host`` that decodes a token in ``token_s`` seconds. ``sets_frequency``: the governor
    also has the lever of the clock."""

    host: str
    token_s: float
    limits: Limits
    sets_frequency: bool = False


SCENARIOS = (
    Scenario("jetson_nano", 0.1, Limits(power_w=4.0)),
    Scenario("jetson_nano", 1.0, Limits(power_w=4.0)),
    Scenario("laptop", 0.016, Limits(power_w=15.0)),
    Scenario("laptop", 0.016, Limits(power_w=15.0), sets_frequency=True),
    Scenario("phone", 0.05, Limits(temperature_c=40.0)),
    Scenario("raspberry_pi_5", 0.05, Limits(temperature_c=60.0)),
    Scenario("raspberry_pi_5", 0.05, Limits(temperature_c=70.0)),
)


@dataclass(frozen=True)
class BudgetRun:
    """What a scenario gave. Power and temperature are true values of the simulated computer, in W and °C: the mean of
    the power after the first half minute, and the highest values as the module says. ``free_tokens``: decoded without
    limits in the same time, with the firmware's throttling."""

    tokens: int
    free_tokens: int
    pauses: int
    mean_w: float
    highest_w: float
    highest_c: float
    free_w: float
    free_c: float
    kept: bool


def simulate(scenario: Scenario, minutes: float = MINUTES) -> BudgetRun:
    """Run ``scenario`` for ``minutes`` of virtual time."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        free = SimulatedComputer(scenario.host, scenario.token_s, Path(folder) / "free")
        free_tokens = 0
        while free.now_s < 60 * minutes:
            free.compute(1)
            free_tokens += 1
        computer = SimulatedComputer(scenario.host, scenario.token_s, Path(folder) / "governed")
        budget = computer.budget(scenario.limits, sets_frequency=scenario.sets_frequency)
        work, tokens = SimulatedWork(computer, budget), 0
        for piece in decode_in_pieces(CountingRuntime(1 << 30), range(PROMPT), 1 << 30, work):
            tokens += len(piece)
            if computer.now_s >= 60 * minutes:
                break
        budget.close()
        watts = computer.watts[_START:]
        highest_w = max(_mean(watts[i : i + _WINDOW]) for i in range(len(watts) - _WINDOW))
        highest_c = max(computer.celsius)
        limits = scenario.limits
        return BudgetRun(
            tokens,
            free_tokens,
            budget.result().pauses,
            _mean(watts),
            highest_w,
            highest_c,
            _mean(free.watts[_START:]),
            max(free.celsius),
            (limits.power_w is None or highest_w <= limits.power_w)
            and (limits.temperature_c is None or highest_c <= limits.temperature_c),
        )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="Print one JSON object on standard output.")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    options = parser.parse_args(argv)
    runs = [(scenario, simulate(scenario, options.minutes)) for scenario in SCENARIOS]
    if options.json:
        print(json.dumps({"runs": [asdict(scenario) | asdict(run) for scenario, run in runs]}))
    else:
        for scenario, run in runs:
            print(_line(scenario, run, options.minutes))


def _line(scenario: Scenario, run: BudgetRun, minutes: float) -> str:
    limits, seconds = scenario.limits, 60 * minutes
    limit = f"{limits.power_w:g} W" if limits.power_w is not None else f"{limits.temperature_c:g} °C"
    levers = "pauses, clock" if scenario.sets_frequency else "pauses"
    return (
        f"| `{scenario.host}` | {limit} | {levers} | {run.free_tokens / seconds:.1f} | {run.tokens / seconds:.1f} | "
        f"{run.free_w:.2f} | {run.mean_w:.2f} | {run.highest_w:.2f} | {run.free_c:.1f} | {run.highest_c:.1f} | "
        f"{run.pauses:,} | {'yes' if run.kept else 'no'} |"
    )


if __name__ == "__main__":
    main()
