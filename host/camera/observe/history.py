"""Keep the last minutes as points for charts, so that a page that is opened late shows them too."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from arenite.host.camera.frames.served_frame import STAGES

#: Five minutes with two points a second.
POINTS = 600
ROWS = (*STAGES, "total", "age")
FIELDS = ("t", "fps", "dropped", "watts", "celsius", *(f"{row}.{p}" for row in ROWS for p in ("p50", "p95")))
_LOG = 500
_RATE_S = 5.0


class History:
    """``points`` have their values in the order of ``FIELDS``, None where unknown. ``dropped`` is per second, and
    ``fps`` that of the last five seconds where frames are counted."""

    def __init__(self) -> None:
        self.points: deque[list[float | None]] = deque(maxlen=POINTS)
        self.log: deque[Mapping[str, Any]] = deque(maxlen=_LOG)
        self._actions = NewGovernorActions()
        self._last: tuple[float, float] | None = None
        self._served: deque[tuple[float, int]] = deque()

    def add(self, state: Mapping[str, Any], t_s: float) -> list[float | None]:
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
        """Return the frame rate of the last seconds; the loop's own rate is a mean over a longer time."""
        if served is None:
            return otherwise
        past = self._served
        if past and (t_s <= past[-1][0] or served < past[-1][1]):
            past.clear()  # the clock or the count was restarted
        past.append((t_s, served))
        while t_s - past[0][0] > _RATE_S:
            past.popleft()
        spent = t_s - past[0][0]
        return (served - past[0][1]) / spent if spent >= 1.0 else otherwise

    def new_actions(self, state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return the governor's actions in ``state`` that no earlier state had."""
        new = self._actions.new(state)
        self.log.extend(new)
        return new


class NewGovernorActions:
    """Yields each action of the governor once, from states that carry the last few actions and their total count."""

    def __init__(self) -> None:
        self._seen = 0

    def new(self, state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        governor = state.get("governor") or {}
        tail = governor.get("log") or []
        count = governor.get("actions", len(tail))
        fresh, self._seen = count - self._seen, max(count, self._seen)
        return list(tail[-fresh:]) if fresh > 0 else []
