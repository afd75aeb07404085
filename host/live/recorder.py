"""Cut what an application sends into labelled clips."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.live.connection import Notice
from arenite.host.live.continuous_samples import ContinuousSamples
from arenite.host.live.messages import (
    ClassName,
    EventMessage,
    Hello,
    Lost,
    Message,
    Row,
    Samples,
    Sensor,
)
from arenite.host.live.picture_recorder import PictureRecorder
from arenite.host.live.sample_store import SampleStore


class Recorder:
    """Stores clips below ``folder``: one after the other, or one for each event.

    ``label`` is the label of the clips that begin now; None: they are not stored. With ``per_event``, a clip is the
    window of an event that starts, and has the event's class as its label unless ``label`` is given. ``clip_s`` is the
    length of a clip in seconds; None: a window of the model. A clip never contains a gap: samples before a gap that are
    too few for a clip are not stored. ``report`` is called with sentences for people.
    """

    def __init__(
        self,
        folder: Path,
        label: str | None,
        *,
        per_event: bool = False,
        clip_s: float | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.label = label
        self.store: SampleStore | None = None
        self.classes: dict[int, str] = {}
        self._folder, self._per_event, self._clip_s, self._report = folder, per_event, clip_s, report
        self._hello: Hello | None = None
        self._samples = ContinuousSamples(1, 1)
        self._received = self._next = 0
        self._events: list[EventMessage] = []
        self._pictures: PictureRecorder | None = None

    @property
    def seconds(self) -> float:
        """The seconds of samples that arrived so far."""
        if self._hello is None:
            return 0.0
        if self._pictures is not None:
            return self._pictures.received * self._hello.hop / self._hello.rate
        return self._received / self._hello.rate

    def choose(self, label: str | None) -> None:
        """Choose the label of the clips that begin now, or None to store none."""
        self.label = label
        self._next = self._samples.end

    def take(self, message: Message | Notice) -> None:
        """Take a message of the application. Raises ``UsageError`` if the folder cannot be used."""
        if isinstance(message, Hello):
            self._begin(message)
        elif isinstance(message, ClassName):
            self.classes[message.index] = message.name
        elif self.store is None or self._hello is None:
            return
        elif isinstance(message, Samples):
            self._take_samples(message)
        elif isinstance(message, Lost):
            (self._pictures or self._samples).lost(message)
        elif isinstance(message, EventMessage):
            if message.is_start and self._per_event:
                self._take_event(message)
        elif isinstance(message, Row) and self._pictures is not None:
            self._pictures.row(message)

    def _take_event(self, event: EventMessage) -> None:
        if self._pictures is not None:
            self._pictures.event(event)
            return
        self._events.append(event)
        self._store_events()

    def _begin(self, hello: Hello) -> None:
        if hello == self._hello:
            return
        self._hello = hello
        clip = hello.window if self._clip_s is None else round(self._clip_s * hello.rate)
        self._clip = max(clip, 1)
        self._samples = ContinuousSamples(hello.channels, self._clip + 4 * hello.window + hello.rate)
        self._next = 0
        self.store = SampleStore(self._folder, hello)
        self._pictures = None
        if hello.sensor == Sensor.PICTURES:
            self._pictures = PictureRecorder(
                hello,
                self.store,
                lambda: self.label,
                self._event_label,
                per_event=self._per_event,
                report=self._report,
            )

    def _take_samples(self, message: Samples) -> None:
        assert self.store is not None
        gap = self._samples.add(message)
        self._received += len(message.values)
        if gap is not None:
            self.store.add_gap(gap)
            self._report(
                f"{gap.count} samples are missing from sample {gap.at} on "
                + ("(lost by the sensor)." if gap.cause == "sensor" else "(dropped by the connection).")
            )
        if self._per_event:
            self._store_events()
            return
        self._next = max(self._next, self._samples.start)
        while (clip := self._samples.between(self._next, self._next + self._clip)) is not None:
            if self.label is not None:
                self.store.add(clip, self.label, self._next)
            self._next += self._clip

    def _store_events(self) -> None:
        """Store the windows of events whose samples have all arrived."""
        assert self.store is not None
        waiting = []
        for event in self._events:
            end = event.at + 1
            clip = self._samples.between(end - self._clip, end)
            if clip is not None:
                self.store.add(clip, self._event_label(event), end - self._clip)
            elif end > self._samples.end:
                waiting.append(event)
            else:
                self._report(
                    f"The event at sample {event.at} is not stored: some of its samples are missing."
                )
        self._events = waiting

    def _event_label(self, event: EventMessage) -> str:
        """Return the label of an event: its class, unless another label was given."""
        return self.label if self.label is not None else self.classes.get(event.index, f"class {event.index}")

    def check(self) -> SampleStore:
        """Return the store. Raises ``UsageError`` if no application has described its sensor."""
        if self.store is None:
            raise UsageError(
                "The device did not answer the command `binary`, so nothing was recorded.",
                "Flash an application that `arenite app` of this version wrote.",
            )
        return self.store
