"""The budget of a language model, as a user states it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from arenite.host.governor.budget_text import parse_budget
from arenite.host.governor.interface import Limits


@dataclass(frozen=True)
class BudgetOptions:
    """``limits`` has a power, a temperature, both or nothing. ``memory_mb``: the most memory of the process, in MB, or
    None. ``host``: the name of a host profile; None for the one that fits this computer. ``power_source``: a part of
    the name of the power source to read. ``sets_frequency``: the governor may change the frequency of the processor.
    ``root``: the folder that contains sys and proc; tests give a simulated tree."""

    limits: Limits = field(default_factory=Limits)
    memory_mb: float | None = None
    host: str | None = None
    power_source: str | None = None
    sets_frequency: bool = False
    root: Path = Path("/")

    @property
    def is_governed(self) -> bool:
        """Whether a limit needs the governor."""
        return self.limits != Limits()


def parse_limits(text: str) -> Limits:
    """Parse the limits of a language model, such as ``power=5W,temperature=70C``. Raises ``UsageError``. There is no
    limit of latency: a pause between two tokens makes it longer."""
    return parse_budget(text, ("power", "temperature"), 'for example --budget "power=5W,temperature=70C"')
