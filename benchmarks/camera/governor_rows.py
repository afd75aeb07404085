"""The governor's rows of the table: its real code on simulated devices (``governor``)."""

from __future__ import annotations

from benchmarks.camera.governor import ALL, SCENARIOS, GovernorRun, Scenario, simulate, targets
from benchmarks.camera.rows import Row


def governor_rows() -> list[Row]:
    """Half an hour of each device takes seconds."""
    rows = []
    for scenario in SCENARIOS:
        free = simulate(scenario, ())
        rows.append(_row(scenario, simulate(scenario, ALL), free))
    return rows


def _row(scenario: Scenario, run: GovernorRun, free: GovernorRun) -> Row:
    limits, limits_met = scenario.limits, targets(run, free, scenario.limits)
    asked, got = [], [f"{run.frames / free.frames:.2f} × the frames"]
    if limits.power_w is not None:
        asked.append(f"≤ {limits.power_w:g} W")
        got.append(f"at most {run.worst_w:.2f} W, mean {run.mean_w:.2f} W")
        if "budget used" in limits_met:
            asked.append("mean within 3 % of it")
    if limits.temperature_c is not None:
        asked.append(f"≤ {limits.temperature_c:g} °C")
        got.append(f"at most {run.worst_c:.1f} °C")
    if limits.latency_ms is not None:
        asked.append(f"≤ {limits.latency_ms:g} ms")
        got.append(f"{run.latency_ms:.0f} ms")
    missed = [name for name, holds in limits_met.items() if not holds]
    text = "; ".join(got) + (f"; misses {', '.join(missed)}" if missed else "")
    target = ", ".join([*asked, "≥ 1.25 × the frames"])
    what = f"governor, {scenario.name}, 35 °C ambient, 30 minutes"
    return Row("governor", what, target, text, not missed, "simulated")
