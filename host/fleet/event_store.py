"""A file in which an agent keeps its events until the server has acknowledged them.

Each record has its length and a CRC, so a record that a power cut interrupted is recognized and cut off. The store is
bounded: when it is full, the oldest event is dropped and counted.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from arenite.files import replace_file
from arenite.host.fleet.messages import MAX_BODY_BYTES, MAX_EVENTS, MAX_MESSAGE_BYTES, Event, EventBatch

_HEADER = struct.Struct("<II")  # length of the payload, CRC-32 of the payload
_NUMBERS = struct.Struct("<QQ")  # epoch, sequence; the body follows
#: The file is written again without the acknowledged events when it is this many times longer than the others.
_COMPACTION_FACTOR = 2
_MIN_COMPACTION_BYTES = 16384
#: The bytes of a message beside the bodies of its events: names, epoch, and the sequence of each event.
_EVENT_OVERHEAD_BYTES = 64
_MESSAGE_OVERHEAD_BYTES = 256


@dataclass(frozen=True, slots=True)
class _Stored:
    epoch: int
    sequence: int
    body: bytes


class EventStore:
    """Events in ``path``, at most ``max_events`` of them. With ``is_durable``, ``append`` returns when the event is
    on the disk; otherwise only a crash of the process, not a power cut, leaves all events there. Raises
    ``OSError``."""

    def __init__(self, path: Path, max_events: int = 10_000, *, is_durable: bool = True) -> None:
        self._path = path
        self._max_events = max_events
        self._is_durable = is_durable
        #: The events that were dropped because the store was full, since it was opened.
        self.dropped = 0
        self._events: deque[_Stored] = deque()
        self._live_bytes = 0
        is_new = not path.exists()
        valid_bytes = self._read()
        self.dropped = 0
        with path.open("ab") as file:
            file.truncate(valid_bytes)
        if is_new and is_durable:
            _sync_folder(path.parent)
        self._file_bytes = valid_bytes

    def __len__(self) -> int:
        return len(self._events)

    def contains(self, epoch: int, sequence: int) -> bool:
        return any((event.epoch, event.sequence) == (epoch, sequence) for event in self._events)

    def append(self, epoch: int, sequence: int, body: str) -> None:
        """Keep an event. ``body`` is a JSON object of at most ``MAX_BODY_BYTES``. Raises ``ValueError`` if it is
        longer."""
        data = body.encode()
        if len(data) > MAX_BODY_BYTES:
            raise ValueError(f"the event has {len(data)} bytes; the limit is {MAX_BODY_BYTES}")
        record = _record(_Stored(epoch, sequence, data))
        # A gateway has the stores of many devices, and few files may be open at a time.
        with self._path.open("ab") as file:
            file.write(record)
            file.flush()
            if self._is_durable:
                os.fsync(file.fileno())
        self._file_bytes += len(record)
        self._remember(_Stored(epoch, sequence, data))
        self._compact()

    def acknowledge(self, epoch: int, sequence: int) -> int:
        """Forget the events of ``epoch`` up to ``sequence``, and return their number."""
        before = len(self._events)
        if self._events and self._events[0].epoch == epoch:
            while self._events and self._events[0].epoch == epoch and self._events[0].sequence <= sequence:
                self._forget_oldest()
        self._compact()
        return before - len(self._events)

    def oldest_batch(self, max_events: int = 20) -> EventBatch | None:
        """Return the oldest events of the oldest epoch, or None if there is none."""
        events: list[Event] = []
        epoch, size = 0, _MESSAGE_OVERHEAD_BYTES
        for stored in self._events:
            size += len(stored.body) + _EVENT_OVERHEAD_BYTES
            if events and (
                stored.epoch != epoch
                or len(events) == min(max_events, MAX_EVENTS)
                or size > MAX_MESSAGE_BYTES
            ):
                break
            epoch = stored.epoch
            events.append(Event(stored.sequence, stored.body.decode()))
        return EventBatch(epoch, events[0].sequence, tuple(events)) if events else None

    def _remember(self, stored: _Stored) -> None:
        self._events.append(stored)
        self._live_bytes += len(stored.body) + _HEADER.size + _NUMBERS.size
        while len(self._events) > self._max_events:
            self._forget_oldest()
            self.dropped += 1

    def _forget_oldest(self) -> None:
        stored = self._events.popleft()
        self._live_bytes -= len(stored.body) + _HEADER.size + _NUMBERS.size

    def _compact(self) -> None:
        if self._file_bytes < max(_COMPACTION_FACTOR * self._live_bytes, _MIN_COMPACTION_BYTES):
            return
        data = b"".join(_record(stored) for stored in self._events)
        replace_file(self._path, data, durable=self._is_durable, private=True)
        self._file_bytes = len(data)

    def _read(self) -> int:
        """Read all events, and return the number of bytes before an interrupted record."""
        data = self._path.read_bytes() if self._path.exists() else b""
        position = end = 0
        while position + _HEADER.size <= len(data):
            length, crc = _HEADER.unpack_from(data, position)
            position += _HEADER.size
            payload = data[position : position + length]
            position += length
            if not _NUMBERS.size <= length <= _NUMBERS.size + MAX_BODY_BYTES or len(payload) < length:
                break
            if zlib.crc32(payload) == crc:
                # A record that the disk damaged is left out. The records after it are still read.
                epoch, sequence = _NUMBERS.unpack_from(payload)
                self._remember(_Stored(epoch, sequence, payload[_NUMBERS.size :]))
                end = position
        return end


def _sync_folder(folder: Path) -> None:
    """Wait until the name of a new file is on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _record(stored: _Stored) -> bytes:
    payload = _NUMBERS.pack(stored.epoch, stored.sequence) + stored.body
    return _HEADER.pack(len(payload), zlib.crc32(payload)) + payload
