"""Compare a run with its budget. Only a measured value decides whether a limit was kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arenite.host.governor.interface import Limits


@dataclass(frozen=True)
class BudgetCheck:
    """One limit, and the value that the run had. ``kind`` says how ``value`` is known: measured, estimated or unknown.
    ``kept`` says whether the limit ``bound`` was kept; it is None if the value was not measured."""

    limit: str
    bound: float
    value: float | None
    unit: str
    kind: str
    kept: bool | None

    def to_json(self) -> dict[str, Any]:
        return {
            "limit": self.limit,
            "asked": self.bound,
            "value": self.value,
            "unit": self.unit,
            "kind": self.kind,
            "kept": self.kept,
        }


def check_budget(
    limits: Limits, *, power_w: float | None, power_kind: str, max_c: float | None, age_ms: float | None
) -> tuple[BudgetCheck, ...]:
    """Return one check for each limit that is not None.

    Args:
        power_w: mean power of the run in watts; ``power_kind`` is measured, estimated or unknown.
        max_c: the highest measured temperature in degrees Celsius.
        age_ms: the 95th percentile of the time from the capture of a frame to its answer, in milliseconds.
    """
    rows = (
        ("power", limits.power_w, power_w, "W", power_kind),
        ("temperature", limits.temperature_c, max_c, "°C", _measured(max_c)),
        ("latency", limits.latency_ms, age_ms, "ms", _measured(age_ms)),
    )
    return tuple(
        BudgetCheck(
            name,
            bound,
            value,
            unit,
            kind,
            value <= bound if kind == "measured" and value is not None else None,
        )
        for name, bound, value, unit, kind in rows
        if bound is not None
    )


def _measured(value: float | None) -> str:
    return "measured" if value is not None else "unknown"
