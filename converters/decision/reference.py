"""Decide with NumPy and Python integers. The C code gives the same events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from arenite.converters.decision.plan import ACTIVE, FACTOR_BITS, LOWEST_SCORE, DecisionPlan, GatePlan

__all__ = ["Decider", "Event", "EventKind", "SampleGate"]


class EventKind(IntEnum):
    """Whether an event starts or ends."""

    START = 0
    END = 1


@dataclass(frozen=True)
class Event:
    """The start or the end of an event.

    ``at`` is the index of the last sample that the decision depends on. ``score`` is the smoothed score, rounded to
    the scale of the model's output.
    """

    at: int
    index: int  # class
    score: int
    kind: EventKind = EventKind.START


class Decider:
    """Takes the scores of one hop after the other, and returns the events that they start or end."""

    def __init__(self, plan: DecisionPlan) -> None:
        self._plan = plan
        self.reset()

    def reset(self) -> None:
        """Forget all scores and events."""
        plan = self._plan
        self._smoothed = np.full(plan.classes, LOWEST_SCORE * plan.one, np.int64)
        self._history = np.full((plan.hops, plan.classes), LOWEST_SCORE, np.int64)
        self._next = 0
        self._heard = [0] * plan.classes
        self._quiet_until = [0] * plan.classes

    @property
    def is_active(self) -> bool:
        """Whether an event has started and not ended."""
        return ACTIVE in self._heard

    def decide(self, scores: np.ndarray | None, at: int) -> list[Event]:
        """Return the events of one hop, sorted by class; an exclusive event starts last.

        Args:
            scores: int8 or uint8 scores [classes], as the model stores them, or None if none were computed because a
                gate was closed.
            at: index of the last sample of the hop.
        """
        self._smooth(scores)
        plan, events, ready = self._plan, [], []
        for k, smoothed in enumerate(self._smoothed.tolist()):
            if self._heard[k] == ACTIVE:
                if smoothed < plan.off[k]:
                    self._heard[k] = 0
                    events.append(self._event(k, at, EventKind.END))
            elif self._is_ready(k, smoothed):
                ready.append(k)
                if not plan.exclusive:
                    events += self._start(k, at, k)
        if plan.exclusive and ready and not self.is_active:
            best = max(ready, key=lambda k: (self._smoothed[k], -k))
            events += self._start(best, at, 0)
        return events

    def end(self, at: int) -> list[Event]:
        """End all events without scores, because samples are missing after sample ``at``, and return their ends sorted
        by class. Call ``reset`` after it."""
        ended = [k for k, heard in enumerate(self._heard) if heard == ACTIVE]
        for k in ended:
            self._heard[k] = 0
        return [self._event(k, at, EventKind.END) for k in ended]

    def _smooth(self, scores: np.ndarray | None) -> None:
        plan = self._plan
        row = np.full(plan.classes, LOWEST_SCORE)
        if scores is not None:
            row = (scores.reshape(-1).astype(np.uint8) ^ np.uint8(plan.flip)).view(np.int8).astype(np.int64)
        if plan.factor:
            step = ((row << FACTOR_BITS) - self._smoothed) * plan.factor
            self._smoothed = self._smoothed + ((step + (1 << (FACTOR_BITS - 1))) >> FACTOR_BITS)
            return
        self._smoothed = self._smoothed + row - self._history[self._next]
        self._history[self._next] = row
        self._next = (self._next + 1) % plan.hops

    def _is_ready(self, k: int, smoothed: int) -> bool:
        """Count a hop of class ``k``, which has no event, and return whether the hops are enough for an event."""
        plan = self._plan
        is_heard = smoothed >= plan.on[k]
        self._heard[k] = min(self._heard[k] + 1, plan.minimum) if is_heard else 0
        return self._heard[k] == plan.minimum

    def _start(self, k: int, at: int, timer: int) -> list[Event]:
        """Start an event of class ``k`` unless the refractory time of ``timer`` has not passed."""
        if at < self._quiet_until[timer]:
            return []
        self._heard[k] = ACTIVE
        self._quiet_until[timer] = at + self._plan.refractory
        return [self._event(k, at, EventKind.START)]

    def _event(self, k: int, at: int, kind: EventKind) -> Event:
        one = self._plan.one
        above_lowest = int(self._smoothed[k]) - LOWEST_SCORE * one
        return Event(at, k, (above_lowest + one // 2) // one + LOWEST_SCORE, kind)


class SampleGate:
    """Takes one block of samples after the other, and returns whether the model must run."""

    def __init__(self, plan: GatePlan) -> None:
        self._plan = plan
        self.reset()

    def reset(self) -> None:
        """Close the gate."""
        self._is_high, self._left = False, 0

    @property
    def is_open(self) -> bool:
        """Whether the model must run, after the last block."""
        return self._left > 0

    def measure(self, samples: np.ndarray) -> bool:
        """Return whether the gate is open after a block of int16 ``samples`` [samples] or [samples, channels]."""
        channels = samples.reshape(-1, self._plan.channels).astype(np.int64)
        count = len(channels)
        sums = channels.sum(axis=0)
        energy = sum(
            int(square) * count - int(s) ** 2
            for square, s in zip((channels**2).sum(axis=0), sums, strict=True)
        )
        limit = self._plan.off if self._is_high else self._plan.on
        self._is_high = count > 0 and energy >= limit * count**2
        return self.hold(self._is_high)

    def hold(self, is_active: bool) -> bool:
        """Take a decision instead of samples, such as ``Decider.is_active`` of a small model, and return whether the
        gate is open."""
        self._left = self._plan.hang + 1 if is_active else max(self._left - 1, 0)
        return self._left > 0


def decide_all(
    plan: DecisionPlan, scores: np.ndarray, at: Sequence[int], has_scores: Sequence[bool] | None = None
) -> list[Event]:
    """Return all events of a stream of int8 ``scores`` [hops, classes], whose hops end at the samples ``at``.

    ``has_scores`` says for each hop whether a model ran; the scores of other hops are not read.
    """
    decider = Decider(plan)
    present = [True] * len(at) if has_scores is None else has_scores
    rows = zip(scores, at, present, strict=True)
    return [
        event for row, end, is_present in rows for event in decider.decide(row if is_present else None, end)
    ]
