"""Store the pictures of a camera: all of them with a label, or those of events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from arenite.host.live.continuous_samples import CONNECTION, SENSOR, Gap
from arenite.host.live.messages import EventMessage, Hello, Lost, Row
from arenite.host.live.pictures import Picture, PictureAssembler, png_of
from arenite.host.live.sample_store import SampleStore

#: The newest pictures, of which an event may still tell.
_KEPT = 8


class PictureRecorder:
    """Puts the rows of pictures together and stores the pictures in ``store``.

    ``label_of`` returns the label of the pictures that arrive now, or None if they are not stored; ``event_label``
    returns that of an event. With ``per_event``, only the pictures of events are stored. ``report`` is called with
    sentences for people.
    """

    def __init__(
        self,
        hello: Hello,
        store: SampleStore,
        label_of: Callable[[], str | None],
        event_label: Callable[[EventMessage], str],
        *,
        per_event: bool,
        report: Callable[[str], None],
    ) -> None:
        self.received = 0
        self._hop, self._store, self._per_event = max(hello.hop, 1), store, per_event
        self._label_of, self._event_label, self._report = label_of, event_label, report
        self._assembler = PictureAssembler(hello.width, hello.height)
        self._pictures: deque[Picture] = deque(maxlen=_KEPT)
        self._events: list[EventMessage] = []
        self._lost: deque[Lost] = deque(maxlen=_KEPT)
        self._number: int | None = None

    def row(self, row: Row) -> None:
        """Take a part of a row."""
        picture = self._assembler.add(row)
        for number in self._assembler.incomplete:
            self._missing(number, 1)
        self._assembler.incomplete.clear()
        if self._number is not None and row.picture > self._number + self._hop:
            self._missing(self._number + self._hop, (row.picture - self._number) // self._hop - 1)
        self._number = row.picture
        if picture is None:
            return
        self.received += 1
        self._pictures.append(picture)
        label = self._label_of()
        if self._per_event:
            self._store_events()
        elif label is not None:
            self._store.add_picture(png_of(picture.pixels), label, picture.number)

    def lost(self, lost: Lost) -> None:
        """Remember which pictures the camera lost; those of which no row arrived are told."""
        self._lost.append(lost)

    def event(self, event: EventMessage) -> None:
        """Take an event that starts. Its picture may become complete later."""
        self._events.append(event)
        self._store_events()

    def _missing(self, number: int, count: int) -> None:
        """Tell that ``count`` pictures from ``number`` on did not arrive, or not completely."""
        is_lost = any(lost.at <= number < lost.at + lost.count for lost in self._lost)
        self._store.add_gap(Gap(number, count, SENSOR if is_lost else CONNECTION))
        self._report(
            f"{count} picture(s) from picture {number} on did not arrive, or not all of their rows "
            + ("(lost by the camera)." if is_lost else "(dropped by the connection).")
        )

    def _store_events(self) -> None:
        """Store the pictures of events that are complete."""
        newest = self._pictures[-1].number if self._pictures else -1
        waiting = []
        for event in self._events:
            found = next((picture for picture in self._pictures if picture.number == event.at), None)
            if found is not None:
                self._store.add_picture(png_of(found.pixels), self._event_label(event), found.number)
            elif event.at > newest:
                waiting.append(event)
            else:
                self._report(f"The event at picture {event.at} is not stored: some of its rows are missing.")
        self._events = waiting
