"""Select the next setting: limit which levers move at once, and enter a new setting carefully."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.host.governor.cost_model import SettingSpace
from arenite.host.governor.planner import OperatingPoint, PlanBounds, Planner, Setting

#: A setting that moves another lever than the frame rate must lower the loss by at least this.
MIN_QUALITY_GAIN = 0.08
#: Share of the predicted rate at which a setting of better quality starts.
CAUTIOUS_RATE_SHARE = 0.6


class SettingSelector:
    """Selects settings. ``refused`` are levers that are not moved; the governor adds to it."""

    def __init__(self, space: SettingSpace, planner: Planner, refused: set[int]) -> None:
        self._space, self._planner, self._refused = space, planner, refused

    def cheaper(self, now: OperatingPoint, bounds: PlanBounds, downward: bool) -> Setting:
        """Return a setting within the limits: by the frame rate alone, unless the other levers promise clearly more.
        With ``downward`` no lever is raised in quality."""
        best = self.choose(now, bounds, frozen=True)
        hoped = self.choose(now, replace(bounds, caution=0.0), downward=downward)
        if not best.fits or hoped.loss < best.loss - MIN_QUALITY_GAIN:
            careful = self.choose(now, bounds, others=hoped.levels)
            best = careful if careful.fits or best.fits else self.choose(now, bounds, downward=downward)
        return self._enter(now, best)

    def better(self, now: OperatingPoint, bounds: PlanBounds, current: float) -> Setting | None:
        """A setting of the other levers whose loss is clearly below the present loss ``current``; None without one."""
        hoped = self.choose(now, replace(bounds, caution=0.0), upward=not self._binding(now, bounds))
        if (
            not self.moves_others(now, hoped.levels)
            or not hoped.fits
            or hoped.loss > current - MIN_QUALITY_GAIN
        ):
            return None
        careful = self.choose(now, bounds, others=hoped.levels)
        if not careful.fits:  # try a smaller step
            careful = self.choose(now, bounds, upward=True)
            if not self.moves_others(now, careful.levels) or careful.loss > current - MIN_QUALITY_GAIN:
                return None
        return self._enter(now, careful) if careful.fits else None

    def moves_others(self, now: OperatingPoint, levels: tuple[int, ...]) -> bool:
        """Return whether ``levels`` move another lever than the frame rate."""
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
        """Return the planner's best setting.

        Args:
            frozen: only the frame rate moves.
            upward: no lever is lowered in quality.
            downward: no lever is raised in quality.
            others: the levels of the levers besides the frame rate.

        At most one lever is raised at a time, and none is lowered for it, because the costs of two moves could not be
        separated.
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
        """Return a mask, shape (N,), of the settings that only lower the levers besides the frame rate, or raise one of
        them."""
        columns = [i for i in range(combos.shape[1]) if i != self._space.fps]
        up = (combos[:, columns] < here[columns]).sum(axis=1)
        down = (combos[:, columns] > here[columns]).sum(axis=1)
        value: np.ndarray = (up == 0) | ((up == 1) & (down == 0))
        return value

    def _enter(self, now: OperatingPoint, chosen: Setting) -> Setting:
        """``chosen`` with at most the present frame rate, and less where quality rises, because its cost is only
        predicted until it was measured. The frame rate follows in the next steps."""
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
        """Return whether full quality would exceed a limit; only then is one lever lowered for another."""
        best = self._planner.choose(now, bounds, np.all(self._space.combos == 0, axis=1))
        return not best.fits or any(best.levels)
