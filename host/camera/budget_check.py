"""Was the budget kept? Of what was measured; an estimate is told, and is no verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arenite.host.governor.interface import Limits


def check_budget(limits: Limits, summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One per limit that was asked for, of an ``arenite.camera/1`` record: ``kept`` is None where nothing was measured.

    Power is the mean of the run, temperature its highest, latency the 95th percentile from capture to answer.
    """
    power, heat = summary["power_w"], summary["temperature_c"]["max"]
    late = summary["stage_ms"].get("age", {}).get("p95")
    rows = (
        ("power", limits.power_w, power["value"], "W", power["kind"]),
        ("temperature", limits.temperature_c, heat, "°C", "measured" if heat is not None else "unknown"),
        ("latency", limits.latency_ms, late, "ms", "measured" if late is not None else "unknown"),
    )
    return [
        {
            "limit": name,
            "asked": asked,
            "value": value,
            "unit": unit,
            "kind": kind,
            "kept": value <= asked if kind == "measured" and value is not None else None,
        }
        for name, asked, value, unit, kind in rows
        if asked is not None
    ]
