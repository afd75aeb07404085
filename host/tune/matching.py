"""Compare the events of a decision with the labelled events: misses and false accepts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from arenite.converters.decision.reference import Event, EventKind
from arenite.host.tune.recordings import Span


@dataclass
class Matches:
    """The counts of one class. ``delays`` has, for each label that was found, the samples from its end to the
    event."""

    labels: int = 0
    misses: int = 0
    false_accepts: int = 0
    delays: list[int] = field(default_factory=list)

    def add(self, other: Matches) -> None:
        """Add the counts of another recording."""
        self.labels += other.labels
        self.misses += other.misses
        self.false_accepts += other.false_accepts
        self.delays += other.delays


def match(starts: Sequence[int], spans: Sequence[Span], tolerance: int) -> Matches:
    """Match the samples ``starts`` at which events of one class start with the labels of this class, by time.

    An event finds the first label that has no event yet, if it starts between the start of the label and ``tolerance``
    samples after its end. Other events are false accepts, also a second event for a label.
    """
    waiting = sorted(spans, key=lambda span: (span.start, span.end))
    matches = Matches(labels=len(waiting))
    for at in starts:
        span = next((s for s in waiting if s.start <= at < s.end + tolerance), None)
        if span is None:
            matches.false_accepts += 1
        else:
            waiting.remove(span)
            matches.delays.append(at - span.end)
    matches.misses = len(waiting)
    return matches


def starts_of(events: Iterable[Event], index: int) -> list[int]:
    """Return the samples at which events of class ``index`` start."""
    return [event.at for event in events if event.index == index and event.kind is EventKind.START]
