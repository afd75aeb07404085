"""Show an ``arenite.energy/1`` record as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arenite.host.report.console import note, show, table


def show_energy(record: dict[str, Any]) -> None:
    """Show the figures and the notes. Each figure has its kind: measured, estimated or assumed."""
    figure = record["energy_uj_per_inference"]
    kind = figure["kind"]
    rows: list[tuple[str, str, str]] = [("energy per inference", microjoules(figure["median"]), kind)]
    if "low" in figure:
        rows.append(("  range of the estimate", _between(figure["low"], figure["high"]), kind))
    else:
        rows.append(("  25th to 75th percentile", _between(figure["p25"], figure["p75"]), kind))
    above = record.get("above_baseline_uj_per_inference")
    if above is not None:
        rows.append(("  above the baseline", microjoules(above["median"]), kind))
    rows += _uncertainty(record.get("uncertainty_uj"), kind)
    rows.append(("supply", f"{record['supply_v']:.3f} V", "measured" if kind == "measured" else "assumed"))
    length = record.get("duration_ms")
    if length:
        rows.append(("time per inference", f"{length['median']:.4g} ms", length["kind"]))
    for key, name in (
        ("average_power_w", "average power in an inference"),
        ("peak_power_w", "peak power"),
        ("baseline_power_w", "baseline between inferences"),
    ):
        if record.get(key) is not None:
            rows.append((name, watts(record[key]), kind))
    if record.get("sleep_current_a") is not None:
        source = record.get("sleep_source")
        name = "sleep current" if source else "lowest current between inferences"
        rows.append((name, amperes(record["sleep_current_a"]), "assumed" if source else kind))
    if kind == "measured":
        windows = f"{record['windows']} by {record['window_method']}"
        if record["windows_left_out"]:
            windows += f", {record['windows_left_out']} left out"
        rows.append(("inferences found", windows, ""))
        total = record["samples"] + record["lost_samples"]
        rows.append(
            ("samples lost", f"{record['lost_samples']:,} of {total:,} in {record['recorded_s']:.3g} s", "")
        )
    inferences = record.get("inferences")
    if isinstance(inferences, dict):
        rows.append(("bit-exact with LiteRT", f"{inferences['bit_exact']} of {inferences['count']}", ""))
    model = record.get("model")
    name = Path(model["path"]).name if model else "the recording"
    show(table(f"Energy of {name} on {record['board']['name']}", ("", "value", "kind"), rows))
    if record.get("battery") is not None:
        _show_battery(record["battery"])
    for text in record["notes"]:
        note(text)


def _uncertainty(uncertainty: dict[str, Any] | None, kind: str) -> list[tuple[str, str, str]]:
    if uncertainty is None or uncertainty.get("standard") is None:
        return []
    parts = [
        f"{title} {microjoules(uncertainty[key])}"
        for key, title in (("of_windows", "windows"), ("of_calibration", "calibration"))
        if uncertainty.get(key) is not None
    ]
    return [("  standard uncertainty", f"±{microjoules(uncertainty['standard'])} ({', '.join(parts)})", kind)]


def _show_battery(life: dict[str, Any]) -> None:
    kind = life["kind"]
    days = life["life_days"]
    rows = [
        ("life", f"{days:,.0f} days" if days < 730 else f"{days / 365.25:.1f} years", kind),
        ("limited by", life["ends_by"], kind),
        ("average current", amperes(life["average_ma"] / 1e3), kind),
        ("average power", watts(life["average_power_w"]), kind),
        (
            "sleep current",
            amperes(life["sleep_current_a"]["value"]),
            life["sleep_current_a"]["source"],
        ),
        ("charge used", f"{life['usable']:.0%}, {life['self_discharged']:.0%} lost to self-discharge", kind),
    ]
    title = f"{life['title']}, an inference every {life['every_s']:g} s, from {life['from']}"
    show(table(title, ("", "value", "kind"), rows))
    for text in life["warnings"]:
        note(text)


def _between(low: float, high: float) -> str:
    return f"{microjoules(low)} to {microjoules(high)}"


def microjoules(value: float) -> str:
    """Return an energy in microjoules as text in nJ, µJ, mJ or J."""
    for size, unit in ((1e6, "J"), (1e3, "mJ"), (1.0, "µJ")):
        if abs(value) >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value * 1e3:.4g} nJ"


def watts(value: float) -> str:
    """Return a power in watts as text in µW, mW or W."""
    for size, unit in ((1.0, "W"), (1e-3, "mW")):
        if abs(value) >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value * 1e6:.4g} µW"


def amperes(value: float) -> str:
    """Return a current in amperes as text in nA, µA, mA or A."""
    for size, unit in ((1.0, "A"), (1e-3, "mA"), (1e-6, "µA")):
        if abs(value) >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value * 1e9:.4g} nA"
