"""A simple simulated device for tests of the governor's decisions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from arenite.host.governor.governor import Governor
from arenite.host.governor.interface import Action, Lever, Limits, Observation
from arenite.host.governor.levers import StepLever, fps_lever


class ToyDevice:
    """A device whose power is idle + energy per frame x rate. A full-quality frame takes ``frame_s`` seconds. The
    temperature is constant."""

    def __init__(
        self, idle: float = 2.0, joules: float = 0.1, frame_s: float = 0.03, noise: float = 0.01
    ) -> None:
        self.idle, self.joules, self.frame_s, self.noise = idle, joules, frame_s, noise
        self.fps, self.factors = 30.0, {"resolution": 1.0, "precision": 1.0}
        self._dice = random.Random(7)
        self.watts = self.rate = 0.0

    def levers(self, names: Sequence[str] = ("fps", "resolution", "precision")) -> list[Lever]:
        """Return the levers of the device with these names."""
        levers: list[Lever] = []
        if "fps" in names:
            levers.append(fps_lever(30.0, lambda rate: setattr(self, "fps", float(rate))))
        for lever_name, costs in (
            ("resolution", {"full": 1.0, "half": 0.5}),
            ("precision", {"float": 1.0, "int8": 0.4}),
        ):
            if lever_name in names:
                levers.append(
                    StepLever(lever_name, list(costs), list(costs.values()), self._setter(lever_name, costs))
                )
        return levers

    def _setter(self, lever_name: str, costs: dict[str, float]):  # type: ignore[no-untyped-def]
        return lambda label: self.factors.__setitem__(lever_name, costs[str(label)])

    def see(self, t_s: float) -> Observation:
        """Return what the governor observes at ``t_s``. The power has the relative noise ``noise``."""
        factor = self.factors["resolution"] * self.factors["precision"]
        self.rate = min(self.fps, 1 / (self.frame_s * factor))
        self.watts = self.idle + self.joules * factor * self.rate
        return Observation(
            t_s, self.rate, self.frame_s * factor * 1e3, self.watts * (1 + self._dice.gauss(0, self.noise))
        )


def drive(toy: ToyDevice, governor: Governor, seconds: int, start: int = 0) -> list[Action]:
    """Run the governor for ``seconds`` steps from ``start``; return its actions."""
    actions = list(governor.begin()) if start == 0 else []
    for second in range(start + 1, start + seconds + 1):
        actions += governor.step(toy.see(float(second)))
    return actions


def governor_for(toy: ToyDevice, limits: Limits, **options: Any) -> Governor:
    """Return a governor with all levers of the device."""
    return Governor(limits, toy.levers(), **options)
