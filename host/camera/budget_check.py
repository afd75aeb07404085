"""Compare a run with its budget. Only a measurement decides whether a limit was kept; an estimate is only shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arenite.host.governor.interface import Limits


@dataclass(frozen=True)
class BudgetCheck:
    """One limit and the value of the run. ``kind`` says where ``value`` comes from: measured, estimated or unknown.
    ``kept`` is None if the value was not measured."""

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
    """Return one check per limit that was given.

    Args:
        power_w: mean power of the run in watts; ``power_kind`` says where it comes from.
        max_c: the highest temperature in degrees Celsius.
        age_ms: the 95th percentile of the time from a capture to its answer.
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
