"""Which setting to go to, and how: what may move at a time, and how carefully something new is entered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.host.governor.cost_model import SettingSpace
from arenite.host.governor.planner import OperatingPoint, PlanBounds, Planner, Setting

#: So much less loss must a setting bring that moves another lever than the frame rate.
MIN_QUALITY_GAIN = 0.08
#: Part of the predicted rate at which a better quality is entered.
CAUTIOUS_RATE_SHARE = 0.6


class SettingSelector:
    """``refused``: levers that are left alone; the governor adds to it."""

    def __init__(self, space: SettingSpace, planner: Planner, refused: set[int]) -> None:
        self._space, self._planner, self._refused = space, planner, refused

    def cheaper(self, now: OperatingPoint, bounds: PlanBounds, downward: bool) -> Setting:
        """Back inside the limits: by the frame rate alone, unless the other levers promise clearly more. ``downward``:
        none of them goes up in quality."""
        best = self.choose(now, bounds, frozen=True)
        hoped = self.choose(now, replace(bounds, caution=0.0), downward=downward)
        if not best.fits or hoped.loss < best.loss - MIN_QUALITY_GAIN:
            careful = self.choose(now, bounds, others=hoped.levels)
            best = careful if careful.fits or best.fits else self.choose(now, bounds, downward=downward)
        return self._enter(now, best)

    def better(self, now: OperatingPoint, bounds: PlanBounds, current: float) -> Setting | None:
        """A setting of the other levers that is believed to be worth its move, against the present loss ``current``."""
        hoped = self.choose(now, replace(bounds, caution=0.0), upward=not self._binding(now, bounds))
        if (
            not self.moves_others(now, hoped.levels)
            or not hoped.fits
            or hoped.loss > current - MIN_QUALITY_GAIN
        ):
            return None
        careful = self.choose(now, bounds, others=hoped.levels)
        if not careful.fits:  # not so far at once
            careful = self.choose(now, bounds, upward=True)
            if not self.moves_others(now, careful.levels) or careful.loss > current - MIN_QUALITY_GAIN:
                return None
        return self._enter(now, careful) if careful.fits else None

    def moves_others(self, now: OperatingPoint, levels: tuple[int, ...]) -> bool:
        """Whether ``levels`` move another lever than the frame rate."""
        pairs = enumerate(zip(levels, now.levels, strict=True))
        return any(new != old for i, (new, old) in pairs if i != self._space.fps)

    def choose(
        self,
        now: OperatingPoint,
        bounds: PlanBounds,
        frozen: bool = False,
        upward: bool = False,
        downward: bool = False,
        others: tuple[int, ...] | None = None,
    ) -> Setting:
        """The planner's best. ``frozen``: the frame rate only; ``upward``: no lever below where it is in quality,
        ``downward``: none above; ``others``: what the levers besides the frame rate are at.

        One lever at most goes up at a time, and none is swapped for another: nobody could tell which one cost what.
        """
        combos, here = self._space.combos, np.array(now.levels)
        wanted = here if others is None else np.array(others)
        allowed = np.ones(len(combos), bool)
        for i in range(combos.shape[1]):
            if i == self._space.fps:
                continue
            if frozen or others is not None or i in self._refused:
                allowed &= combos[:, i] == (here if i in self._refused else wanted)[i]
            elif upward:
                allowed &= combos[:, i] <= here[i]
            elif downward:
                allowed &= combos[:, i] >= here[i]
        if others is None:
            allowed &= self._plain(combos, here)
        return self._planner.choose(now, bounds, allowed)

    def _plain(self, combos: np.ndarray, here: np.ndarray) -> np.ndarray:
        """[N] whether the levers besides the frame rate only go down in quality, or one of them up."""
        columns = [i for i in range(combos.shape[1]) if i != self._space.fps]
        up = (combos[:, columns] < here[columns]).sum(axis=1)
        down = (combos[:, columns] > here[columns]).sum(axis=1)
        value: np.ndarray = (up == 0) | ((up == 1) & (down == 0))
        return value

    def _enter(self, now: OperatingPoint, chosen: Setting) -> Setting:
        """``chosen``, begun at no more frames than now, and on tiptoe where quality goes up: what it costs is a belief
        until it is seen; the frame rate follows in the next steps."""
        fps = self._space.fps
        if fps is None or not self.moves_others(now, chosen.levels):
            return chosen
        lever, levels = self._space.levers[fps], list(chosen.levels)
        better = sum(levels) - levels[fps] < sum(now.levels) - now.levels[fps]
        most = CAUTIOUS_RATE_SHARE * chosen.rate if better else float("inf")
        levels[fps] = max(levels[fps], now.levels[fps])
        while levels[fps] < lever.levels - 1 and float(lever.label(levels[fps])) > most:
            levels[fps] += 1
        return replace(chosen, levels=tuple(levels), rate=min(chosen.rate, float(lever.label(levels[fps]))))

    def _binding(self, now: OperatingPoint, bounds: PlanBounds) -> bool:
        """Whether full quality would exceed a limit: only then may one lever pay for another."""
        best = self._planner.choose(now, bounds, np.all(self._space.combos == 0, axis=1))
        return not best.fits or any(best.levels)
