"""The contents of the live views: what an application has sent so far, in columns that a screen can show."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

import numpy as np

from arenite.host.live.connection import Connected, Disconnected, Ended, Notice
from arenite.host.live.messages import (
    ClassName,
    EventMessage,
    Health,
    Hello,
    Lost,
    Message,
    MissingFrames,
    Row,
    Samples,
    Sensor,
    Text,
    WindowScores,
)
from arenite.host.live.pictures import Picture, PictureAssembler
from arenite.host.live.spectrum import BANDS, Spectrum

#: Columns of the waveform per second, at most one per sample, and the columns that are kept.
COLUMNS_PER_S, MAX_COLUMNS = 50, 500
_MAX_EVENTS = 50


class LiveView:
    """Collects the messages of an application. Any thread may call its methods.

    Columns are numbered from 0 on. A column has the smallest and the largest value of each channel, and for sound also
    the levels of ``spectrum.BANDS`` bands from 0 to 255.
    """

    def __init__(self, device: str) -> None:
        self._lock = threading.Lock()
        self._device, self._status, self._is_connected = device, "Waiting for the device", False
        self._hello: Hello | None = None
        self._classes: dict[int, str] = {}
        self._columns: deque[dict[str, Any]] = deque(maxlen=MAX_COLUMNS)
        self._column_count = 0
        self._rest = np.zeros((0, 1), np.int16)
        self._scores: list[int] = []
        self._latency: int | None = None
        self._events: deque[dict[str, Any]] = deque(maxlen=_MAX_EVENTS)
        self._event_count = 0
        self._health: Health | None = None
        self._notes: deque[str] = deque(maxlen=20)
        self._missing_frames = self._incomplete = 0
        self._spectrum: Spectrum | None = None
        self._pictures: PictureAssembler | None = None
        self.picture: Picture | None = None
        self.version = 0  # changes with every message

    def take(self, message: Message | Notice) -> None:
        """Take a message of the application."""
        with self._lock:
            self._take(message)
            self.version += 1

    def _take(self, message: Message | Notice) -> None:
        if isinstance(message, Connected):
            self._is_connected, self._status = True, "Connected again" if message.is_again else "Connected"
            self._notes.append(f"{self._status} to {message.port}.")
        elif isinstance(message, Disconnected):
            self._is_connected, self._status = False, "Disconnected: waiting for the port"
            self._notes.append(message.problem)
        elif isinstance(message, Ended):
            self._is_connected, self._status = False, "The recording ended"
        elif isinstance(message, Hello):
            self._begin(message)
        elif isinstance(message, ClassName):
            self._classes[message.index] = message.name
        elif isinstance(message, Samples):
            self._add_samples(message.values)
        elif isinstance(message, WindowScores):
            self._scores, self._latency = list(message.percent), message.ticks
        elif isinstance(message, EventMessage):
            self._add_event(message)
        elif isinstance(message, Health):
            self._health = message
        elif isinstance(message, Row) and self._pictures is not None:
            self.picture = self._pictures.add(message) or self.picture
            self._incomplete += len(self._pictures.incomplete)
            self._pictures.incomplete.clear()
        elif isinstance(message, Lost):
            unit = self._unit
            self._notes.append(f"The sensor lost {message.count} {unit}(s) from {unit} {message.at} on.")
        elif isinstance(message, MissingFrames):
            self._missing_frames += message.count
        elif isinstance(message, Text):
            self._notes.append(message.line)

    @property
    def _unit(self) -> str:
        """What the application counts."""
        return "sample" if self._pictures is None else "frame"

    def _begin(self, hello: Hello) -> None:
        if hello == self._hello:
            return
        self._hello = hello
        self._columns.clear()
        self._rest = np.zeros((0, hello.channels), np.int16)
        self._spectrum = Spectrum(hello.rate) if hello.sensor == Sensor.SOUND else None
        self._pictures = (
            PictureAssembler(hello.width, hello.height) if hello.sensor == Sensor.PICTURES else None
        )

    def _add_samples(self, values: np.ndarray) -> None:
        if self._hello is None or values.shape[1] != self._hello.channels:
            return
        size = _column_samples(self._hello)
        self._rest = np.concatenate([self._rest, values])
        while len(self._rest) >= size:
            part, self._rest = self._rest[:size], self._rest[size:]
            column: dict[str, Any] = {"low": part.min(0).tolist(), "high": part.max(0).tolist()}
            if self._spectrum is not None:
                column["bands"] = self._spectrum.levels(part[:, 0])
            self._columns.append(column)
            self._column_count += 1

    def _add_event(self, event: EventMessage) -> None:
        rate = self._hello.rate if self._hello is not None else 1
        self._event_count += 1
        self._events.append(
            {
                "number": self._event_count,
                "class": self._classes.get(event.index, f"class {event.index}"),
                "kind": "start" if event.is_start else "end",
                "percent": event.percent,
                "sample": event.at,
                "seconds": round(event.at / rate, 3),
                "arrived": round(time.time(), 3),
            }
        )

    def snapshot(self, after: int = 0) -> dict[str, Any]:
        """Return all contents, with the columns from number ``after`` on, as a JSON object."""
        with self._lock:
            hello, health = self._hello, self._health
            first = self._column_count - len(self._columns)
            return {
                "device": self._device,
                "status": self._status,
                "is_connected": self._is_connected,
                "sensor": hello.sensor.name.lower() if hello is not None else None,
                "rate": hello.rate if hello is not None else None,
                "channels": hello.channels if hello is not None else None,
                "unit": self._unit,
                "column_ms": None if hello is None else 1000 * _column_samples(hello) / hello.rate,
                "bands": BANDS if self._spectrum is not None else 0,
                "scores": [
                    {"class": self._classes.get(k, f"class {k}"), "percent": percent}
                    for k, percent in enumerate(self._scores)
                ],
                "latency_ms": self._milliseconds(self._latency),
                "period_ms": self._milliseconds(hello.period if hello is not None else None),
                "headroom_percent": self._headroom(),
                "health": None
                if health is None
                else {
                    "samples": health.samples,
                    "windows": health.windows,
                    "late": health.late,
                    "lost": health.lost,
                    "stuck": health.stuck,
                    "silent": health.silent,
                    "dropped_messages": health.dropped_frames,
                    "dropped_lines": health.dropped_lines,
                    **({} if health.gated is None else {"gated": health.gated}),
                },
                "missing_messages": self._missing_frames,
                "incomplete_pictures": None if self._pictures is None else self._incomplete,
                "events": list(self._events),
                "notes": list(self._notes),
                "picture": self.picture.number if self.picture is not None else None,
                "columns": list(self._columns)[max(after - first, 0) :],
                "next_column": self._column_count,
            }

    def _milliseconds(self, ticks: int | None) -> float | None:
        hello = self._hello
        return None if ticks is None or not hello else round(1000 * ticks / hello.ticks_per_s, 3)

    def _headroom(self) -> float | None:
        """Return the share of its time that the slowest window left, in percent."""
        hello, health = self._hello, self._health
        if hello is None or health is None or not health.windows or not hello.period:
            return None
        return round(100 - 100 * health.worst / hello.period, 1)


def _column_samples(hello: Hello) -> int:
    """Return the samples of a column."""
    return max(hello.rate // COLUMNS_PER_S, 1)
