"""Store the last minutes of a run as points for charts, so that a page that is opened later also shows them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from arenite.host.camera.frames.served_frame import STAGES

#: The number of points: five minutes with two points a second.
POINTS = 600
#: The times of a frame, and the fields of a point: time, rates, power, temperature and percentiles of each time.
ROWS = (*STAGES, "total", "age")
FIELDS = ("t", "fps", "dropped", "watts", "celsius", *(f"{row}.{p}" for row in ROWS for p in ("p50", "p95")))
#: The maximum number of actions that are stored.
_MAX_LOG = 500
#: The time in seconds over which the frame rate is computed.
_RATE_S = 5.0


class History:
    """The points of the last minutes, and the last actions of the governor and of updates (``log``).

    A point is a list of values in the order of ``FIELDS``; unknown values are None. ``dropped`` is the number of
    dropped frames per second. ``fps`` is the frame rate of the last five seconds if the state counts frames, else the
    loop's own rate.
    """

    def __init__(self) -> None:
        self.points: deque[list[float | None]] = deque(maxlen=POINTS)
        self.log: deque[Mapping[str, Any]] = deque(maxlen=_MAX_LOG)
        self._actions = NewActions()
        self._last: tuple[float, float] | None = None
        self._served: deque[tuple[float, int]] = deque()

    def add(self, state: Mapping[str, Any], t_s: float) -> list[float | None]:
        """Add the loop's state at the time ``t_s``, and return the new point."""
        frames = state.get("frames") or {}
        dropped = frames.get("dropped")
        rate = None
        if dropped is not None:
            if self._last is not None and t_s > self._last[0]:
                rate = max(dropped - self._last[1], 0) / (t_s - self._last[0])
            self._last = (t_s, dropped)
        stages = state.get("stage_ms") or {}
        point = [t_s, self._rate(t_s, frames.get("served"), state.get("fps")), rate]
        point += [(state.get(part) or {}).get("value") for part in ("power", "temperature")]
        point += [(stages.get(row) or {}).get(p) for row in ROWS for p in ("p50", "p95")]
        rounded = [None if value is None else round(value, 4) for value in point]
        self.points.append(rounded)
        return rounded

    def _rate(self, t_s: float, served: int | None, otherwise: float | None) -> float | None:
        """Return the frame rate of the last seconds, from the number ``served`` of frames. If it is not known, return
        ``otherwise``, the loop's own rate, which is a mean over a longer time."""
        if served is None:
            return otherwise
        past = self._served
        if past and (t_s <= past[-1][0] or served < past[-1][1]):
            past.clear()  # the clock or the count was restarted
        past.append((t_s, served))
        while t_s - past[0][0] > _RATE_S:
            past.popleft()
        elapsed_s = t_s - past[0][0]
        return (served - past[0][1]) / elapsed_s if elapsed_s >= 1.0 else otherwise

    def new_actions(self, state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return the actions in ``state`` that no earlier state had."""
        new = self._actions.find_new(state)
        self.log.extend(new)
        return new


class NewActions:
    """Finds the new actions in a series of states that each contain the last actions of the governor and of the
    model's updates, and their total counts."""

    def __init__(self) -> None:
        self._known_counts = {"governor": 0, "updates": 0}

    def find_new(self, state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return the actions in ``state`` that were not in an earlier state."""
        new: list[Mapping[str, Any]] = []
        for part, known_count in self._known_counts.items():
            actions = state.get(part) or {}
            tail = actions.get("log") or []
            count = actions.get("actions", len(tail))
            self._known_counts[part] = max(count, known_count)
            if count > known_count:
                new += tail[-(count - known_count) :]
        return new
