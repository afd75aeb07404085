"""The requests of a fleet's agent, through the server of the Simple Management Protocol."""

from __future__ import annotations

import shutil
import struct

import pytest

from arenite.host.update.smp_message import READ, WRITE
from tests.firmware.agent.device import CLASSES, CONFIDENCE, INPUT, LATENCY, Device

pytest.importorskip("cbor2", reason="needs cbor2: pip install 'arenite[update]'")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
STATE, HISTOGRAM, WINDOW = 1, 2, 3
INVALID, NOT_FOUND, BAD_STATE, UNSUPPORTED = 3, 5, 6, 8


def read_histogram(device: Device, number: int) -> tuple[list[int], int]:
    """Return the counts, and the number of answers that they took."""
    counts: list[int] = []
    answers = 0
    while True:
        body = device.ask(READ, HISTOGRAM, {"id": number, "off": len(counts)}).body
        data = body["counts"]
        assert (body["seq"], body["id"], body["off"]) == (1, number, len(counts)) and len(data) % 2 == 0
        counts += struct.unpack(f"<{len(data) // 2}H", data)
        answers += 1
        if len(counts) == body["n"]:
            return counts, answers
        assert data, "an answer has no counts"


@pytest.mark.parametrize(("buffer_bytes", "answers"), [(416, 1), (512, 1), (192, 2)])
def test_a_client_reads_every_histogram(buffer_bytes: int, answers: int) -> None:
    device = Device(64, buffer_bytes=buffer_bytes)
    for k in range(700):
        device.observe(bytes([k % 251]), 3 * k * k, bytes(k * j % 256 for j in range(64)))
    for number in (LATENCY, CLASSES, CONFIDENCE, INPUT, INPUT + 1):
        counts, needed = read_histogram(device, number)
        assert counts == device.counts(number) and sum(counts) == 700
        assert needed == (answers if number == LATENCY else 1)


def test_a_request_without_an_offset_begins_at_the_first_bucket() -> None:
    device = Device()
    device.observe(b"\x00", 2, bytes(5))
    body = device.ask(READ, HISTOGRAM, {"id": CLASSES}).body
    assert body == {"seq": 1, "id": 1, "off": 0, "n": 5, "counts": struct.pack("<5H", 1, 0, 0, 0, 0)}
    assert device.ask(READ, HISTOGRAM, {"id": CLASSES, "off": 5}).body["counts"] == b""


def test_a_window_is_closed_once() -> None:
    device = Device()
    device.observe(b"\x00", 2, bytes(5))
    assert device.ask(WRITE, WINDOW, {"seq": 1}).body == {"seq": 2}
    assert device.ask(READ, STATE, {}).body["n"] == 0
    assert not any(sum(device.counts(number)) for number in (LATENCY, CLASSES, CONFIDENCE, INPUT, INPUT + 1))
    device.observe(b"\x00", 2, bytes(5))
    assert device.ask(WRITE, WINDOW, {"seq": 1}).body == {"seq": 2}  # the answer was lost
    assert device.ask(READ, STATE, {}).body["n"] == sum(device.counts(LATENCY)) == 1
    for number in (0, 3, 2**32 - 1):
        assert device.ask(WRITE, WINDOW, {"seq": number}).error == BAD_STATE
    assert device.ask(READ, STATE, {}).body["seq"] == 2


def test_a_window_with_another_number_of_inferences_stays_open() -> None:
    device = Device()
    device.observe(b"\x00", 2, bytes(5))
    for number in (0, 2, 2**32 - 1):
        assert device.ask(WRITE, WINDOW, {"seq": 1, "n": number}).error == BAD_STATE
    assert device.ask(READ, STATE, {}).body["n"] == sum(device.counts(CLASSES)) == 1
    for number in (1, 1, 5):  # the others are repetitions of the first
        assert device.ask(WRITE, WINDOW, {"seq": 1, "n": number}).body == {"seq": 2}
    assert device.ask(WRITE, WINDOW, {"seq": 2, "n": "0"}).error == INVALID
    assert device.ask(READ, STATE, {}).body["n"] == 0


def test_the_uptime_goes_on_when_the_counter_wraps() -> None:
    device = Device(cause=3, boot=4_000_000_000, ticks=2**32 - 50)
    at = 2**32 - 50
    for _ in range(1000):
        at += 17
        device.tick(at % 2**32, 100)
    expected = {"up": 170, "cause": 3, "boot": 4_000_000_000, "seq": 1, "n": 0}
    assert device.ask(READ, STATE, {}).body == expected
    device.tick((at + 99_999) % 2**32, 100)
    assert device.ask(READ, STATE, {}).body["up"] == 1169


def test_wrong_requests_have_errors() -> None:
    device = Device()
    for operation, command, body, error in (
        (READ, HISTOGRAM, {}, INVALID),
        (READ, HISTOGRAM, {"id": "0"}, INVALID),
        (READ, HISTOGRAM, {"id": 0, "off": 97}, INVALID),
        (READ, HISTOGRAM, {"id": 3}, NOT_FOUND),
        (READ, HISTOGRAM, {"id": INPUT + 2}, NOT_FOUND),
        (READ, HISTOGRAM, {"id": 2**32 - 1}, NOT_FOUND),
        (WRITE, WINDOW, {}, INVALID),
        (WRITE, HISTOGRAM, {"id": 0}, UNSUPPORTED),
        (WRITE, STATE, {}, UNSUPPORTED),
        (READ, WINDOW, {"seq": 1}, UNSUPPORTED),
        (READ, 4, {}, UNSUPPORTED),
    ):
        answer = device.ask(operation, command, body)
        assert answer.body == {"rc": error}, (operation, command, body, answer)
