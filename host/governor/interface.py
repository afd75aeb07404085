"""The types that the governor and its callers exchange: limits, observations, levers and actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that the governor keeps; None for no limit."""

    power_w: float | None = None
    temperature_c: float | None = None
    latency_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """Measurements of the time since the governor's last step."""

    t_s: float  # seconds since the camera loop began
    fps: float  # frames per second that were processed
    latency_ms: float | None  # p95 of the time from capture to result; None when no frame was processed
    power_w: float | None = None
    temperature_c: float | None = None
    trip_c: float | None = None  # the temperature at which the device itself throttles


class Lever(Protocol):
    """A control that saves power in steps: level 0 is full quality, ``levels - 1`` is the cheapest level."""

    name: str  # fps, resolution, model, threads, frequency, accelerator, rest
    levels: int

    @property
    def level(self) -> int:
        """The present level."""
        ...

    def label(self, level: int) -> float | int | str:
        """Return the meaning of the level, such as 30, "320x240" or "int8"."""
        ...

    def cost(self, level: int) -> float:
        """Return the relative work per second at ``level``, 1.0 at level 0; measured if possible, else declared."""
        ...

    def move(self, level: int) -> None:
        """Set the level. Raises ``AreniteError`` when the device refuses; the governor then stops using this lever."""
        ...


@dataclass(frozen=True, slots=True)
class Action:
    """One change of a lever's level, with its reason. It is an entry of ``governor`` in the JSON result."""

    t_s: float
    lever: str
    before: float | int | str
    after: float | int | str
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {
            "t_s": round(self.t_s, 3),
            "lever": self.lever,
            "from": self.before,
            "to": self.after,
            "reason": self.reason,
        }
