"""A device of three numbers, for tests of the governor's decisions."""

from __future__ import annotations

import random
from collections.abc import Sequence

from arenite.host.governor.governor import Governor
from arenite.host.governor.interface import Action, Lever, Limits, Observation
from arenite.host.governor.levers import StepLever, fps_lever


class ToyDevice:
    """Power = idle + energy per frame x rate; a frame takes ``frame_s`` of full quality; no heat."""

    def __init__(
        self, idle: float = 2.0, joules: float = 0.1, frame_s: float = 0.03, noise: float = 0.01
    ) -> None:
        self.idle, self.joules, self.frame_s, self.noise = idle, joules, frame_s, noise
        self.fps, self.factors = 30.0, {"resolution": 1.0, "precision": 1.0}
        self._dice = random.Random(7)
        self.watts = self.rate = 0.0

    def levers(self, names: Sequence[str] = ("fps", "resolution", "precision")) -> list[Lever]:
        made: list[Lever] = []
        if "fps" in names:
            made.append(fps_lever(30.0, lambda rate: setattr(self, "fps", float(rate))))
        for kind, costs in (
            ("resolution", {"full": 1.0, "half": 0.5}),
            ("precision", {"float": 1.0, "int8": 0.4}),
        ):
            if kind in names:
                made.append(StepLever(kind, list(costs), list(costs.values()), self._setter(kind, costs)))
        return made

    def _setter(self, kind: str, costs: dict[str, float]):  # type: ignore[no-untyped-def]
        return lambda label: self.factors.__setitem__(kind, costs[str(label)])

    def see(self, t_s: float) -> Observation:
        factor = self.factors["resolution"] * self.factors["precision"]
        self.rate = min(self.fps, 1 / (self.frame_s * factor))
        self.watts = self.idle + self.joules * factor * self.rate
        return Observation(
            t_s, self.rate, self.frame_s * factor * 1e3, self.watts * (1 + self._dice.gauss(0, self.noise))
        )


def drive(toy: ToyDevice, governor: Governor, seconds: int, start: int = 0) -> list[Action]:
    """Steps from ``start``; the actions."""
    actions = list(governor.begin()) if start == 0 else []
    for second in range(start + 1, start + seconds + 1):
        actions += governor.step(toy.see(float(second)))
    return actions


def governor_for(toy: ToyDevice, limits: Limits, **options: float) -> Governor:
    return Governor(limits, toy.levers(), **options)
