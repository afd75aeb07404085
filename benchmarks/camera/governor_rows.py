"""Make the rows of the targets table on the governor. The real governor runs on simulated devices (``governor.py``)."""

from __future__ import annotations

from benchmarks.camera.governor import ALL, SCENARIOS, GovernorRun, Scenario, simulate, targets
from benchmarks.camera.rows import Row


def governor_rows() -> list[Row]:
    """Simulate half an hour of each scenario, and return one row per scenario. This takes some seconds."""
    rows = []
    for scenario in SCENARIOS:
        ungoverned = simulate(scenario, ())
        rows.append(_row(scenario, simulate(scenario, ALL), ungoverned))
    return rows


def _row(scenario: Scenario, run: GovernorRun, ungoverned: GovernorRun) -> Row:
    limits, limits_met = scenario.limits, targets(run, ungoverned, scenario.limits)
    target_texts, figures = [], [f"{run.frames / ungoverned.frames:.2f} × the frames"]
    if limits.power_w is not None:
        target_texts.append(f"≤ {limits.power_w:g} W")
        figures.append(f"at most {run.worst_w:.2f} W, mean {run.mean_w:.2f} W")
        if "budget used" in limits_met:
            target_texts.append("mean within 3 % of it")
    if limits.temperature_c is not None:
        target_texts.append(f"≤ {limits.temperature_c:g} °C")
        figures.append(f"at most {run.worst_c:.1f} °C")
    if limits.latency_ms is not None:
        target_texts.append(f"≤ {limits.latency_ms:g} ms")
        figures.append(f"{run.latency_ms:.0f} ms")
    missed = [name for name, holds in limits_met.items() if not holds]
    text = "; ".join(figures) + (f"; misses {', '.join(missed)}" if missed else "")
    target = ", ".join([*target_texts, "≥ 1.25 × the frames"])
    title = f"governor, {scenario.name}, 35 °C ambient, 30 minutes"
    return Row("governor", title, target, text, not missed, "simulated")
