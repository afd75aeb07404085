"""The events of the updates of a run, for the record, the dashboard and the notes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: The maximum number of events that are kept in the record, and of those in the loop's state.
MAX_EVENTS, MAX_STATE_EVENTS = 200, 50
#: The lever of the events in the dashboard's log.
LEVER = "update"


@dataclass(frozen=True)
class UpdateEvent:
    """One event. ``event`` is one of found, shadow, switched, accepted, returned, refused, failed. ``before`` and
    ``after`` are the names of the models that serve before and after it."""

    t_s: float
    event: str
    version: str
    before: str
    after: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {
            "t_s": round(self.t_s, 3),
            "event": self.event,
            "version": self.version,
            "from": self.before,
            "to": self.after,
            "reason": self.reason,
        }


class UpdateLog:
    """Collects events. ``report`` is called with a sentence for people for each event."""

    def __init__(self, clock: Callable[[], float], report: Callable[[str], None]) -> None:
        self._clock, self._report = clock, report
        self._lock = threading.Lock()
        self.events: list[UpdateEvent] = []
        self.count = 0

    def add(self, event: str, version: str, before: str, after: str, reason: str) -> None:
        entry = UpdateEvent(self._clock(), event, version, before, after, reason)
        with self._lock:
            self.count += 1
            self.events.append(entry)
            del self.events[:-MAX_EVENTS]
        self._report(f"Update: {reason}")

    def to_json(self) -> list[dict[str, Any]]:
        with self._lock:
            return [event.to_json() for event in self.events]

    def state(self) -> dict[str, Any]:
        """Return the last events as actions of the dashboard's log, and the number of all events."""
        with self._lock:
            count, events = self.count, self.events[-MAX_STATE_EVENTS:]
        return {
            "actions": count,
            "log": [
                {
                    "t_s": round(event.t_s, 3),
                    "lever": LEVER,
                    "from": event.before,
                    "to": event.after,
                    "reason": event.reason,
                }
                for event in events
            ],
        }
