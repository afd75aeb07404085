"""Messages survive a round trip, and malformed ones are refused with a sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.fleet import messages
from arenite.host.fleet.messages import (
    Acknowledgement,
    DesiredRelease,
    Event,
    EventBatch,
    MessageError,
    Status,
)
from arenite.host.fleet.topics import CHANNELS, Topic, check_name, parse_topic

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3)
    ),
    max_leaves=10,
)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 2**52),
    st.lists(st.dictionaries(st.text(max_size=8), _JSON, max_size=4), min_size=1, max_size=20),
)
def test_events_survive_a_round_trip(epoch: int, bodies: list[dict[str, object]]) -> None:
    events = tuple(Event(5 + 2 * k, json.dumps(body, separators=(",", ":"))) for k, body in enumerate(bodies))
    batch = EventBatch(epoch, 3, events)
    assert messages.decode_events(messages.encode_events(batch)) == batch


def test_other_messages_survive_a_round_trip() -> None:
    desired = DesiredRelease(7, "2.0.0", "ab" * 32)
    pair = DesiredRelease(8, "3.0.0", "cd" * 32, "ef" * 32, "01" * 32)
    for acknowledgement in (
        Acknowledgement(3, 9, desired),
        Acknowledgement(3, 9, pair),
        Acknowledgement(3, 0),
    ):
        encoded = messages.encode_acknowledgement(acknowledgement)
        assert messages.decode_acknowledgement(encoded) == acknowledgement
    for wish in (desired, pair):
        assert messages.decode_desired(messages.encode_desired(wish)) == wish
    assert b"firmware" not in messages.encode_desired(desired)  # as before releases had two images
    assert (desired.images, pair.images) == (("ab" * 32,), ("ef" * 32, "01" * 32))
    half = messages.encode_desired(pair).replace(b'"model"', b'"other"')
    with pytest.raises(MessageError, match="'model' must be a text"):
        messages.decode_desired(half)
    status = Status(4, False)
    assert messages.decode_status(messages.encode_status(status)) == status


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[" * 60_000, "not JSON"),
        ("[]", "'schema' must be"),
        ('{"schema":"arenite.events/2"}', "'schema' must be"),
        ('{"schema":"arenite.events/1","epoch":1,"first":1,"events":[]}', "1 to 100 events"),
        ('{"schema":"arenite.events/1","epoch":0,"first":1,"events":[{}]}', "'epoch'"),
        ('{"schema":"arenite.events/1","epoch":true,"first":1,"events":[{}]}', "'epoch'"),
        (
            '{"schema":"arenite.events/1","epoch":1,"first":1,"events":[{"sequence":1,"body":3}]}',
            "object 'body'",
        ),
        (
            '{"schema":"arenite.events/1","epoch":1,"first":4,"events":[{"sequence":3,"body":{}}]}',
            "'sequence'",
        ),
        (
            '{"schema":"arenite.events/1","epoch":1,"first":1,'
            '"events":[{"sequence":2,"body":{}},{"sequence":2,"body":{}}]}',
            "event 2 follows event 2",
        ),
        (" " * 70_000, "the limit is 65536"),
    ],
    ids=range(11),
)
def test_malformed_events_are_refused(text: str, words: str) -> None:
    with pytest.raises(MessageError, match=words):
        messages.decode_events(text.encode())


@given(st.binary(max_size=200))
def test_no_bytes_raise_another_error(payload: bytes) -> None:
    for decode in (
        messages.decode_events,
        messages.decode_acknowledgement,
        messages.decode_desired,
        messages.decode_status,
    ):
        with pytest.raises(MessageError):
            decode(payload)


def test_topics() -> None:
    for channel in CHANNELS:
        topic = Topic("plant", "pump-1", channel)
        assert parse_topic(str(topic)) == topic
    for text in (
        "arenite/plant/pump-1/other",
        "arenite/plant/+/events",
        "arenite/plant/events",
        "a/b/c/events",
    ):
        assert parse_topic(text) is None
    with pytest.raises(UsageError, match="not a name of a fleet"):
        check_name("fleet", "a/b")
