"""What the governor sees, what it may do, and what it says it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Limits:
    """None: no limit."""

    power_w: float | None = None
    temperature_c: float | None = None
    latency_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """Of the time since the last step."""

    t_s: float  # since the loop began
    fps: float  # served
    latency_ms: float | None  # p95 of capture to answer; None when no frame was served
    power_w: float | None = None
    temperature_c: float | None = None
    trip_c: float | None = None  # where the device itself throttles


class Lever(Protocol):
    """A way to spend less, in steps: level 0 is full quality, ``levels - 1`` the cheapest."""

    name: str  # fps, resolution, model, threads, frequency, accelerator, rest
    levels: int
    level: int

    def label(self, level: int) -> float | int | str:
        """What the level means: 30, "320x240", "int8"."""
        ...

    def cost(self, level: int) -> float:
        """Relative work per second at ``level``, 1.0 at level 0, as best known: declared or measured."""
        ...

    def move(self, level: int) -> None:
        """Make it so. Raises ``AreniteError`` when the device refuses; the governor then leaves this lever alone."""
        ...


@dataclass(frozen=True, slots=True)
class Action:
    """One line of the log: contract ``governor``."""

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
