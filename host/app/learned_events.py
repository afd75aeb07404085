"""Repeat on this computer what a device learns in a recording: the same alarms and classes at the same samples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from arenite.converters.anomaly.plan import BITS
from arenite.converters.anomaly.reference import ReferenceHead, difference
from arenite.converters.decision.reference import Event, EventKind
from arenite.firmware.app.learning_glue import ANOMALY, Learning

_ACTION = re.compile(
    r"\[[\d.]+ s\] (?:(learning stopped|learning continues|forgot what is normal)|forgot (.+?)|examples of (.+?): \d+)"
    r" \(sample (\d+)\)"
)
_NUMBER = re.compile(r"class (\d+)")


@dataclass(frozen=True)
class LearnedEvent(Event):
    """An event of what was learned. ``label`` is its name, and ``detail`` the score as it is printed."""

    label: str = ""
    detail: str = ""


@dataclass(frozen=True)
class _Action:
    """A command that the device reported: ``sample`` is the last one of the window before it, or for an example that
    of the window itself."""

    sample: int
    verb: str
    name: str


def _actions(lines: Iterable[str]) -> list[_Action]:
    """Return the commands that took effect, from the lines of an application."""
    found = []
    for line in lines:
        match = _ACTION.fullmatch(line)
        if match is not None:
            verb, forgotten, taught = match[1], match[2], match[3]
            name = forgotten or taught or ""
            found.append(_Action(int(match[4]), verb or ("forget" if forgotten else "teach"), name))
    return found


def _ratio(value: int) -> str:
    """Return a number with 16 fractional bits as the application prints it."""
    return f"{(value * 1000 >> BITS) / 1000:.3f}"


class _State:
    """Which event is active, and the windows in a row with another state."""

    def __init__(self, minimum: int) -> None:
        self._minimum, self._active, self._seen, self._windows = minimum, -1, -1, 0

    def follow(self, now: int) -> list[tuple[int, EventKind]]:
        """Take the state of a window (-1 for none), and return the events that end and start."""
        self._windows = self._windows + 1 if now == self._seen else 1
        self._seen = now
        if now == self._active or self._windows < self._minimum:
            return []
        ended = [] if self._active < 0 else [(self._active, EventKind.END)]
        self._active = now
        return ended + ([] if now < 0 else [(now, EventKind.START)])

    def end(self) -> list[int]:
        """Forget all windows, and return the event that was active, if there was one."""
        active = [] if self._active < 0 else [self._active]
        self._active = self._seen = -1
        return active


class LearnedEvents:
    """Learns one window after the other as the application does. ``record`` is the state with which the application
    started, an element of ``learning.record_dtype``, or None. ``lines`` are those of the application, which report the
    commands that it obeyed."""

    def __init__(self, learning: Learning, record: np.ndarray | None, lines: Iterable[str]) -> None:
        self._learning, self._plan = learning, learning.plan
        self._head = ReferenceHead(learning.plan)
        self._names = [""] * (self._plan.head.classes + 1)
        self._actions = _actions(lines)
        if record is not None:
            self._head.state[0] = record["head"]
            self._names = [bytes(name).decode() for name in record["names"]]
        minimum = self._plan.head.minimum
        self._alarm, self._class = _State(minimum), _State(minimum)

    def window(self, outputs: Sequence[np.ndarray], source: np.ndarray, at: int) -> list[LearnedEvent]:
        """Return the events of a window. ``outputs`` are those of the model, ``source`` is its input, all int8, and
        ``at`` is the index of the window's last sample."""
        while self._actions and (self._actions[0].sample < at and self._actions[0].verb != "teach"):
            self._obey(self._actions.pop(0))
        units = self._plan.units
        values = outputs[self._plan.head.output].reshape(-1)
        if units is not None:
            values = difference(units, source.reshape(-1), values)
        judgement = self._head.update(values)
        detail = f"{_ratio(judgement.score)}, normal up to {_ratio(judgement.threshold)}"
        first = self._learning.first
        events = [
            LearnedEvent(at, first, 0, kind, ANOMALY, detail)
            for _, kind in self._alarm.follow(0 if judgement.alarm else -1)
        ]
        if not self._plan.head.classes:
            return events
        while self._actions and (self._actions[0].sample, self._actions[0].verb) == (at, "teach"):
            self._head.teach(self._slot(self._actions.pop(0).name), values)
        nearest = self._head.classify(values)
        detail = f"distance {_ratio(nearest.distance)}"
        return events + [
            LearnedEvent(at, first + 1 + index, 0, kind, self._name(index), detail)
            for index, kind in self._class.follow(nearest.index)
        ]

    def end(self, at: int) -> list[LearnedEvent]:
        """Return the ends of the events that have started, before a gap after sample ``at``."""
        first = self._learning.first
        events = [LearnedEvent(at, first, 0, EventKind.END, ANOMALY) for _ in self._alarm.end()]
        return events + [
            LearnedEvent(at, first + 1 + index, 0, EventKind.END, self._name(index))
            for index in self._class.end()
        ]

    def _name(self, index: int) -> str:
        return self._names[index] or f"class {index}"

    def _slot(self, name: str) -> int:
        """Return the class that the application calls ``name``; a new name gets the first class that is not used."""
        if name in self._names:
            return self._names.index(name)
        match = _NUMBER.fullmatch(name)
        if match is not None:
            return int(match[1])
        taught = self._head.state[0]["taught"]
        slot = next(k for k in range(self._plan.head.classes) if not self._names[k] and not taught[k])
        self._names[slot] = name
        return slot

    def _obey(self, action: _Action) -> None:
        if action.verb == "forget":
            slot = self._slot(action.name)
            self._head.forget(slot)
            self._names[slot] = ""
        elif action.verb == "forgot what is normal":
            self._head.reset()
        else:
            self._head.freeze(action.verb == "learning stopped")
