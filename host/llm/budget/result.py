"""What became of the budget of a language model: the limits, the pauses, power and temperature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arenite.counts import count_of
from arenite.host.energy.base import ESTIMATED, MEASURED, Power
from arenite.host.governor.budget_check import BudgetCheck
from arenite.host.governor.interface import Action
from arenite.host.llm.power_readings import MeanPower

#: The name of the governor's lever of the rate, and its name in results.
_RATE_LEVER, _RATE_NAME = "fps", "tokens_s"
#: Digits of figures in results.
_DIGITS = 3


class PowerSum:
    """The energy of readings of power, and its mean power."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._joules = self._measured_s = 0.0
        self._source = ""

    def add(self, power: Power, seconds: float) -> None:
        """Add ``power``, which lasted ``seconds``."""
        self._joules += power.watts * seconds
        self.seconds += seconds
        self._measured_s += seconds if power.kind == MEASURED else 0.0
        self._source = power.source

    @property
    def mean(self) -> MeanPower | None:
        """The mean power, or None before the first reading."""
        if self.seconds <= 0:
            return None
        kind = MEASURED if self._measured_s >= self.seconds else ESTIMATED
        return MeanPower(self._joules / self.seconds, kind, self._source)


@dataclass(frozen=True)
class Course:
    """The first, the highest and the last value of a figure over a run."""

    first: float
    highest: float
    last: float

    @staticmethod
    def after(course: Course | None, value: float) -> Course:
        """Return ``course`` with one more value, or one that begins with it if ``course`` is None."""
        return Course(value, value, value) if course is None else course.then(value)

    def then(self, value: float) -> Course:
        """Return the course with one more value."""
        return Course(self.first, max(self.highest, value), value)

    def to_json(self) -> dict[str, float]:
        return {name: round(value, _DIGITS) for name, value in vars(self).items()}


@dataclass(frozen=True)
class GovernedRun:
    """What the governor did. ``full_tokens_s``: the measured rate with a short context before it began.
    ``tokens_s`` and ``steady_tokens_s``: the rates after the first token of each answer with the pauses and without
    them, or None without a second token. ``power``: the mean over all work and pauses. ``settings``: the last label of
    each lever."""

    pauses: int
    paused_s: float
    full_tokens_s: float
    tokens_s: float | None
    steady_tokens_s: float | None
    power: MeanPower | None
    watts: Course | None
    celsius: Course | None
    thermometer: str
    settings: dict[str, float | int | str]
    actions: tuple[Action, ...]
    notes: tuple[str, ...]

    @property
    def lost(self) -> float | None:
        """The share of the rate that pauses took."""
        if self.tokens_s is None or self.steady_tokens_s is None:
            return None
        return max(1 - self.tokens_s / self.steady_tokens_s, 0.0)

    def sentences(self) -> list[str]:
        """Return the figures for people."""
        paused = f"{count_of(self.pauses, 'pause')} of {self.paused_s:.1f} s together"
        rates = f", {self.full_tokens_s:.1f} tokens/s before the governor began"
        if self.tokens_s is not None and self.steady_tokens_s is not None and self.lost is not None:
            rates = (
                f": {self.tokens_s:.1f} instead of {self.steady_tokens_s:.1f} tokens/s "
                f"({100 * self.lost:.0f} % lost){rates}"
            )
        lines = [f"{paused}{rates}."]
        if self.watts is not None and self.power is not None:
            lines.append(
                f"Power: {self.watts.first:.2f} W at first, {self.watts.last:.2f} W at last, mean "
                f"{self.power.watts:.2f} W, {self.power.kind} ({self.power.source})."
            )
        if self.celsius is not None:
            lines.append(
                f"Temperature: {self.celsius.first:.1f} °C at first, {self.celsius.last:.1f} °C at last, "
                f"{self.celsius.highest:.1f} °C at most ({self.thermometer})."
            )
        settings = ", ".join(f"{name} {label}" for name, label in self.settings.items())
        lines.append(f"Last settings: {settings}, after {count_of(len(self.actions), 'action')}.")
        return [*lines, *self.notes]

    def to_json(self) -> dict[str, Any]:
        power, watts, celsius = self.power, self.watts, self.celsius
        return {
            "pauses": {"count": self.pauses, "seconds": round(self.paused_s, _DIGITS)},
            "tokens_s": {
                "value": self.tokens_s,
                "without_pauses": self.steady_tokens_s,
                "lost": self.lost,
                "full": self.full_tokens_s,
                "kind": MEASURED,
            },
            "power": None
            if power is None or watts is None
            else {"mean": power.watts, **watts.to_json(), "kind": power.kind, "source": power.source},
            "temperature": None
            if celsius is None
            else {**celsius.to_json(), "kind": MEASURED, "source": self.thermometer},
            "settings": self.settings,
            "actions": [_renamed(action) for action in self.actions],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class BudgetResult:
    """The limits of a budget, and what the governor did, or None if no limit needs it."""

    checks: tuple[BudgetCheck, ...]
    governed: GovernedRun | None

    @property
    def is_kept(self) -> bool:
        """Whether no limit was exceeded, as far as it was measured."""
        return all(check.kept is not False for check in self.checks)

    def sentences(self) -> list[str]:
        """Return the result for people, one sentence per line."""
        words = {True: "kept", False: "not kept", None: "not known, because it was not measured"}
        lines = [
            f"Limit of {check.limit}, {check.bound:g} {check.unit}: {words[check.kept]}"
            + ("." if check.value is None else f" ({check.value:.2f} {check.unit}, {check.kind}).")
            for check in self.checks
        ]
        return lines if self.governed is None else [*lines, *self.governed.sentences()]

    def to_json(self) -> dict[str, Any]:
        return {
            "limits": [check.to_json() for check in self.checks],
            "kept": self.is_kept,
            "governor": None if self.governed is None else self.governed.to_json(),
        }


def renamed_settings(levers: dict[str, float | int | str]) -> dict[str, float | int | str]:
    """Return the labels of the governor's levers by their names in results."""
    return {_name(lever): label for lever, label in levers.items()}


def memory_check(memory_mb: float, resident_bytes: int) -> BudgetCheck:
    """Return whether the largest resident set of a process was at most ``memory_mb`` MB."""
    value = resident_bytes / 1e6
    return BudgetCheck("memory", memory_mb, value, "MB", MEASURED, value <= memory_mb)


def _name(lever: str) -> str:
    return _RATE_NAME if lever == _RATE_LEVER else lever


def _renamed(action: Action) -> dict[str, Any]:
    content = action.to_json()
    return {**content, "lever": _name(content["lever"])}
