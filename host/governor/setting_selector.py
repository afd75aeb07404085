"""Select the governor's next setting. The selector limits the levers that move at the same time, and starts a setting
of better quality at a lower frame rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.host.governor.cost_model import SettingSpace
from arenite.host.governor.planner import OperatingPoint, PlanBounds, Planner, Setting

#: A setting that moves another lever than the frame rate must lower the loss by at least this figure.
MIN_QUALITY_GAIN = 0.08
#: Share of the predicted rate at which a setting of better quality starts.
CAUTIOUS_RATE_SHARE = 0.6


class SettingSelector:
    """Selects settings. ``refused`` holds the indices of the levers that must not be moved. The governor adds an index
    when a device refuses a move."""

    def __init__(self, space: SettingSpace, planner: Planner, refused: set[int]) -> None:
        self._space, self._planner, self._refused = space, planner, refused

    def select_within_limits(self, now: OperatingPoint, bounds: PlanBounds, downward: bool) -> Setting:
        """Return a setting within the limits, or the nearest to them. Only the frame rate changes, unless a move of
        other levers is predicted to lose clearly less quality. With ``downward`` no lever is raised in quality."""
        best = self.choose(now, bounds, frozen=True)
        optimistic = self.choose(now, replace(bounds, caution=0.0), downward=downward)
        if not best.fits or optimistic.loss < best.loss - MIN_QUALITY_GAIN:
            cautious = self.choose(now, bounds, others=optimistic.levels)
            best = cautious if cautious.fits or best.fits else self.choose(now, bounds, downward=downward)
        return self._with_cautious_rate(now, best)

    def select_better_setting(
        self, now: OperatingPoint, bounds: PlanBounds, current: float
    ) -> Setting | None:
        """Return a setting that moves another lever than the frame rate and has a loss clearly below the present loss
        ``current``; None if there is none."""
        optimistic = self.choose(now, replace(bounds, caution=0.0), upward=not self._is_limited(now, bounds))
        if (
            not self.moves_others(now, optimistic.levels)
            or not optimistic.fits
            or optimistic.loss > current - MIN_QUALITY_GAIN
        ):
            return None
        cautious = self.choose(now, bounds, others=optimistic.levels)
        if not cautious.fits:  # try a smaller step
            cautious = self.choose(now, bounds, upward=True)
            if not self.moves_others(now, cautious.levels) or cautious.loss > current - MIN_QUALITY_GAIN:
                return None
        return self._with_cautious_rate(now, cautious) if cautious.fits else None

    def moves_others(self, now: OperatingPoint, levels: tuple[int, ...]) -> bool:
        """Return whether ``levels`` move another lever than the frame rate."""
        pairs = enumerate(zip(levels, now.levels, strict=True))
        return any(new != old for i, (new, old) in pairs if i != self._space.fps_index)

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
            now: the present setting and its measurements.
            bounds: the limits to keep.
            frozen: True if only the frame rate may move.
            upward: True if no lever may be lowered in quality.
            downward: True if no lever may be raised in quality.
            others: the required levels of the levers besides the frame rate; the entry of the frame rate is ignored.

        Unless ``others`` is set, at most one lever is raised at a time, and no lever is lowered at the same time,
        because the costs of two moves could not be separated.
        """
        combos, here = self._space.combos, np.array(now.levels)
        target_levels = here if others is None else np.array(others)
        allowed = np.ones(len(combos), bool)
        for i in range(combos.shape[1]):
            if i == self._space.fps_index:
                continue
            if frozen or others is not None or i in self._refused:
                allowed &= combos[:, i] == (here if i in self._refused else target_levels)[i]
            elif upward:
                allowed &= combos[:, i] <= here[i]
            elif downward:
                allowed &= combos[:, i] >= here[i]
        if others is None:
            allowed &= self._allowed_moves(combos, here)
        return self._planner.choose(now, bounds, allowed)

    def _allowed_moves(self, combos: np.ndarray, here: np.ndarray) -> np.ndarray:
        """Return a mask of the settings ``combos``, shape (N,): those that, besides the frame rate, either raise no
        lever or raise one lever and lower none."""
        columns = [i for i in range(combos.shape[1]) if i != self._space.fps_index]
        up = (combos[:, columns] < here[columns]).sum(axis=1)
        down = (combos[:, columns] > here[columns]).sum(axis=1)
        value: np.ndarray = (up == 0) | ((up == 1) & (down == 0))
        return value

    def _with_cautious_rate(self, now: OperatingPoint, chosen: Setting) -> Setting:
        """Return ``chosen`` with at most the present frame rate if it moves another lever. If quality rises, the rate
        is still lower, because the cost of the setting is a prediction until it was measured. The next steps raise
        it."""
        fps = self._space.fps_index
        if fps is None or not self.moves_others(now, chosen.levels):
            return chosen
        lever, levels = self._space.levers[fps], list(chosen.levels)
        raises_quality = sum(levels) - levels[fps] < sum(now.levels) - now.levels[fps]
        max_rate = CAUTIOUS_RATE_SHARE * chosen.rate if raises_quality else float("inf")
        levels[fps] = max(levels[fps], now.levels[fps])
        while levels[fps] < lever.levels - 1 and float(lever.label(levels[fps])) > max_rate:
            levels[fps] += 1
        return replace(chosen, levels=tuple(levels), rate=min(chosen.rate, float(lever.label(levels[fps]))))

    def _is_limited(self, now: OperatingPoint, bounds: PlanBounds) -> bool:
        """Return whether full quality would exceed a limit. Otherwise no lever needs to be lowered to raise another
        lever."""
        best = self._planner.choose(now, bounds, np.all(self._space.combos == 0, axis=1))
        return not best.fits or any(best.levels)
