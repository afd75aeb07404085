"""The result of a soak run: its first minute and its steady state, as a table and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from arenite.host.camera.observe.statistics_window import StatisticsWindow

MINUTE = 60.0


@dataclass(slots=True)
class RunningMean:
    total: float = 0.0
    count: int = 0

    def add(self, value: float | None) -> None:
        if value is not None:
            self.total += value
            self.count += 1

    @property
    def value(self) -> float | None:
        return self.total / self.count if self.count else None


@dataclass(slots=True)
class SoakPart:
    """The measurements of a part of the run, from ``begin_s`` to ``end_s``.

    ``power`` (watts), ``temperature`` (degrees Celsius), ``clock`` (MHz) and ``joules`` have no value if there is no
    sensor. ``power_kind`` is ``estimated`` if any reading of the power was estimated.
    """

    begin_s: float
    end_s: float = 0.0
    window: StatisticsWindow = field(default_factory=lambda: StatisticsWindow(0))
    power: RunningMean = field(default_factory=RunningMean)
    temperature: RunningMean = field(default_factory=RunningMean)
    clock: RunningMean = field(default_factory=RunningMean)
    joules: float | None = None
    power_kind: str = "measured"

    @property
    def fps(self) -> float:
        """The served frames divided by the duration of the part, including pauses."""
        seconds = self.end_s - self.begin_s
        return self.window.served / seconds if seconds > 0 else 0.0

    def merge(self, other: SoakPart) -> None:
        """Extend this part by ``other``, which follows it."""
        self.end_s = other.end_s
        self.window.merge(other.window)
        for own_mean, other_mean in (
            (self.power, other.power),
            (self.temperature, other.temperature),
            (self.clock, other.clock),
        ):
            own_mean.total += other_mean.total
            own_mean.count += other_mean.count
        if other.joules is not None:
            self.joules = (self.joules or 0.0) + other.joules
        if other.power_kind != "measured":
            self.power_kind = other.power_kind

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "from_s": round(self.begin_s, 1),
            "to_s": round(self.end_s, 1),
            "frames": self.window.served,
            "fps": round(self.fps, 3),
            "stage_ms": self.window.stage_ms(),
            "power_w": _rounded(self.power.value),
            "temperature_c": _rounded(self.temperature.value, 2),
            "clock_mhz": _rounded(self.clock.value, 1),
            "energy_mj_per_frame": None,
        }
        if self.power.count:
            record["power_kind"] = self.power_kind
        if self.joules is not None and self.window.served:
            record["energy_mj_per_frame"] = round(self.joules * 1e3 / self.window.served, 4)
        return record


@dataclass(frozen=True)
class SoakResult:
    """The result of a soak run: its first minute and its steady state ``last``, which begins at ``settled_s``. If the
    run never became steady, ``settled_s`` is None, ``last`` is the last third of the run, and ``unsettled`` names the
    values that still changed."""

    minutes: float
    minute_1: SoakPart
    last: SoakPart
    settled_s: float | None
    unsettled: tuple[str, ...]
    enough: bool = True  # whether the run had enough parts to decide

    @property
    def steady(self) -> bool:
        return self.settled_s is not None

    def to_json(self) -> dict[str, Any]:
        return {
            "minutes": round(self.minutes, 2),
            "steady": self.steady,
            "settled_s": _rounded(self.settled_s, 1),
            "unsettled": list(self.unsettled),
            "minute_1": self.minute_1.to_json(),
            "steady_state" if self.steady else "last_third": self.last.to_json(),
        }

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return rows of a table: name of the value, minute 1, steady state, change. The first row is the header."""
        first, last = self.minute_1.to_json(), self.last.to_json()
        rows = [("", "minute 1", "steady state" if self.steady else "last third", "change")]

        def row(
            name: str, before: float | None, after: float | None, digits: int, share: bool = True
        ) -> None:
            if before is None and after is None:
                return
            change = ""
            if before is not None and after is not None:
                difference = after - before
                change = (
                    f"{100 * difference / before:+.1f} %" if share and before else f"{difference:+.{digits}f}"
                )
            rows.append((name, _text(before, digits), _text(after, digits), change))

        row("frames per second", first["fps"], last["fps"], 2)
        for stage in last["stage_ms"]:
            for percent in ("p50", "p99"):
                before = first["stage_ms"].get(stage, {}).get(percent)
                row(f"{stage} {percent} ms", before, last["stage_ms"][stage][percent], 3)
        kinds = {part.power_kind for part in (self.minute_1, self.last)}
        kind = "" if kinds == {"measured"} else " (estimated)"
        row(f"power W{kind}", first["power_w"], last["power_w"], 3)
        row(f"energy mJ per frame{kind}", first["energy_mj_per_frame"], last["energy_mj_per_frame"], 3)
        row("temperature °C", first["temperature_c"], last["temperature_c"], 1, share=False)
        row("clock MHz", first["clock_mhz"], last["clock_mhz"], 0)
        return rows

    def sentence(self) -> str:
        if self.settled_s is not None:
            return f"Steady from {self.settled_s / MINUTE:.1f} min on."
        if not self.enough:
            return "The run was too short to find a steady state; run it longer."
        return f"Not steady after {self.minutes:.1f} min: {', '.join(self.unsettled)} still changed; run it longer."


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return round(value, digits) if value is not None else None


def _text(value: float | None, digits: int) -> str:
    return f"{value:,.{digits}f}" if value is not None else "-"
