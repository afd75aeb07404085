"""Mean power in each phase of an update, from the readings that the supervisor publishes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any


class PowerPhases:
    """A listener of the loop's state. ``begin`` starts a phase; a phase of the same name is forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._phase = ""
        self._readings: dict[str, list[tuple[float, str]]] = {}
        self._skip = False

    def begin(self, phase: str) -> None:
        with self._lock:
            self._phase = phase
            self._readings[phase] = []
            self._skip = True  # the next reading covers time before this moment

    def update(self, state: Mapping[str, Any]) -> None:
        power = state.get("power")
        if power is None:
            return
        with self._lock:
            if self._skip:
                self._skip = False
            elif self._phase:
                readings = self._readings[self._phase]
                readings.append((power["value"], power["kind"]))
                del readings[:-1000]

    def to_json(self, *phases: str) -> dict[str, Any]:
        """Return the mean power in watts of each phase; null without readings. ``kind`` is "measured" only if every
        reading was measured."""
        with self._lock:
            readings = {phase: list(self._readings.get(phase, ())) for phase in phases}
        kinds = {kind for each in readings.values() for _, kind in each}
        means = {
            phase: round(sum(watts for watts, _ in each) / len(each), 3) if each else None
            for phase, each in readings.items()
        }
        return {**means, "kind": kinds.pop() if len(kinds) == 1 else "estimated" if kinds else "unknown"}
