"""The messages between devices and the server, as JSON texts.

A device puts everything that it reports into events. An event has a number within a *boot epoch*: the device counts
events from 1 in each epoch, and an epoch is never used again. The server stores an event under (device, epoch,
sequence), so an event that arrives twice is stored once. The device keeps an event until the server has acknowledged
it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from arenite.input_files import parse_json

EVENTS = "arenite.events/1"
ACKNOWLEDGED = "arenite.acknowledged/1"
DESIRED = "arenite.desired/1"
STATUS = "arenite.status/1"

#: The longest message in bytes, and the largest number of events in a message.
MAX_MESSAGE_BYTES = 65536
MAX_EVENTS = 100
#: The longest body of an event in bytes.
MAX_BODY_BYTES = 8192
#: Integers are below this limit, so that every reader of JSON holds them exactly.
MAX_INTEGER = 2**53


class MessageError(ValueError):
    """A message is malformed. The text names the field and what was expected."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event with its number, and its body as a JSON text that is never changed on its way."""

    sequence: int
    body: str


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events of one epoch in ascending order. ``first`` is the oldest event of this epoch that the device still has:
    all events before it were acknowledged, or the device had to drop them."""

    epoch: int
    first: int
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class DesiredRelease:
    """The release that a device should run. A device obeys only a ``generation`` above the last one that it knows.

    Hashes are SHA-256 hashes in hexadecimal digits. If the release has a firmware and a model for the device, these two
    are set, and ``image`` is for agents that know only one image (see ``pair_hash``).
    """

    generation: int
    release: str
    image: str
    firmware: str = ""
    model: str = ""

    @property
    def images(self) -> tuple[str, ...]:
        """The hashes of the images that the device should run: one, or a firmware and a model."""
        return (self.firmware, self.model) if self.firmware else (self.image,)


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The server has stored all events of ``epoch`` up to ``sequence`` that the device still had."""

    epoch: int
    sequence: int
    desired: DesiredRelease | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """Whether a device is connected. The broker publishes ``is_online`` = False when the connection is lost."""

    epoch: int
    is_online: bool


def encode_events(batch: EventBatch) -> bytes:
    # The bodies are JSON already. They are inserted as they are.
    events = ",".join(f'{{"sequence":{event.sequence},"body":{event.body}}}' for event in batch.events)
    return f'{{"schema":"{EVENTS}","epoch":{batch.epoch},"first":{batch.first},"events":[{events}]}}'.encode()


def decode_events(payload: bytes) -> EventBatch:
    """Raises ``MessageError``."""
    message = _message(payload, EVENTS)
    epoch, first = _integer(message, "epoch", 1), _integer(message, "first", 1)
    items = message.get("events")
    if not isinstance(items, list) or not 0 < len(items) <= MAX_EVENTS:
        raise MessageError(f"'events' must be a list of 1 to {MAX_EVENTS} events")
    events: list[Event] = []
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("body"), dict):
            raise MessageError("an event must be an object with 'sequence' and an object 'body'")
        sequence = _integer(item, "sequence", first)
        if events and sequence <= events[-1].sequence:
            raise MessageError(f"event {sequence} follows event {events[-1].sequence}")
        body = json.dumps(item["body"], separators=(",", ":"))
        if len(body) > MAX_BODY_BYTES:
            raise MessageError(f"event {sequence} has {len(body)} bytes; the limit is {MAX_BODY_BYTES}")
        events.append(Event(sequence, body))
    return EventBatch(epoch, first, tuple(events))


def encode_acknowledgement(acknowledgement: Acknowledgement) -> bytes:
    desired = acknowledgement.desired
    return _encode(
        ACKNOWLEDGED,
        epoch=acknowledgement.epoch,
        sequence=acknowledgement.sequence,
        desired=None if desired is None else desired_fields(desired),
    )


def decode_acknowledgement(payload: bytes) -> Acknowledgement:
    """Raises ``MessageError``."""
    message = _message(payload, ACKNOWLEDGED)
    desired = message.get("desired")
    return Acknowledgement(
        _integer(message, "epoch", 1),
        _integer(message, "sequence", 0),
        None if desired is None else _desired(desired),
    )


def encode_desired(desired: DesiredRelease) -> bytes:
    return _encode(DESIRED, **desired_fields(desired))


def decode_desired(payload: bytes) -> DesiredRelease:
    """Raises ``MessageError``."""
    return _desired(_message(payload, DESIRED))


def encode_status(status: Status) -> bytes:
    return _encode(STATUS, epoch=status.epoch, online=status.is_online)


def decode_status(payload: bytes) -> Status:
    """Raises ``MessageError``."""
    message = _message(payload, STATUS)
    if not isinstance(message.get("online"), bool):
        raise MessageError("'online' must be true or false")
    return Status(_integer(message, "epoch", 1), message["online"])


def desired_fields(desired: DesiredRelease) -> dict[str, Any]:
    """Return a desired release as the fields of a JSON object. Those of a pair are there only if it has one."""
    fields = {"generation": desired.generation, "release": desired.release, "image": desired.image}
    return {**fields, "firmware": desired.firmware, "model": desired.model} if desired.firmware else fields


def _desired(fields: Any) -> DesiredRelease:
    if not isinstance(fields, dict):
        raise MessageError("'desired' must be an object")
    pair = ("firmware", "model") if "firmware" in fields or "model" in fields else ()
    return DesiredRelease(
        _integer(fields, "generation", 1),
        *(_text(fields, name) for name in ("release", "image", *pair)),
    )


def _encode(schema: str, **fields: Any) -> bytes:
    return json.dumps({"schema": schema, **fields}, separators=(",", ":")).encode()


def decode_fields(payload: bytes, schema: str, max_bytes: int) -> dict[str, Any]:
    """Return the fields of a JSON object with this schema. Raises ``MessageError``."""
    if len(payload) > max_bytes:
        raise MessageError(f"it has {len(payload)} bytes; the limit is {max_bytes}")
    try:
        message = parse_json(payload)
    except ValueError as error:
        raise MessageError(f"it is not JSON: {error}") from error
    if not isinstance(message, dict) or message.get("schema") != schema:
        raise MessageError(f"'schema' must be {schema}")
    return message


def _message(payload: bytes, schema: str) -> dict[str, Any]:
    return decode_fields(payload, schema, MAX_MESSAGE_BYTES)


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= 64:
        raise MessageError(f"'{name}' must be a text of 1 to 64 characters")
    return value


def _integer(fields: dict[str, Any], name: str, minimum: int) -> int:
    value = fields.get(name)
    if type(value) is not int or not minimum <= value < MAX_INTEGER:
        raise MessageError(f"'{name}' must be an integer from {minimum} to 2**53 - 1")
    return value
