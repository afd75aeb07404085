"""Descriptions of answers: the queue of one, news, failures and the end."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from arenite.host.camera.answers.answer import Answer, Box
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.sinks.chat_client import ChatClient
from arenite.host.camera.sinks.describe import INSTRUCTION, DescribeSink
from tests.free_port import free_port
from tests.host.camera.sinks.chat_server import chat_server, completion

LIMIT_S = 60.0


def frame(number: int, *labels: str) -> ServedFrame:
    boxes = tuple(Box(0.4, 0.4, 0.6, 0.6, 0.9, 0, label) for label in labels)
    return ServedFrame(number, 0, number, 0, {}, Answer("boxes", boxes=boxes))


class Model:
    """A server whose requests wait until the test answers them."""

    def __init__(self) -> None:
        self.requests: queue.Queue[dict[str, Any]] = queue.Queue()
        self.answers: queue.Queue[tuple[int, bytes]] = queue.Queue()

    def respond(self, body: dict[str, Any]) -> tuple[int, bytes]:
        self.requests.put(body)
        return self.answers.get()

    def question(self) -> str:
        """Return the question of the next request."""
        system, user = self.requests.get(timeout=LIMIT_S)["messages"]
        assert system["content"] == INSTRUCTION
        return str(user["content"])


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def address(model: Model) -> Iterator[str]:
    with chat_server(model.respond) as address:
        yield address


class Reports:
    """The reported lines; ``next`` waits for one."""

    def __init__(self) -> None:
        self.lines: queue.Queue[str] = queue.Queue()

    def next(self) -> str:
        return self.lines.get(timeout=LIMIT_S)


def test_the_newest_answer_wins_and_others_are_counted(model: Model, address: str) -> None:
    reports = Reports()
    sink = DescribeSink(ChatClient(address), every_s=0, report=reports.lines.put)
    sink.take(frame(0, "cat"), None)
    assert "1 object: cat (score 0.90) in the centre" in model.question()
    for number in range(1, 6):  # no call waits, although the model has not answered
        sink.take(frame(number, "dog", *["cat"] * number), None)
    model.answers.put(completion("A cat."))
    assert reports.next() == "Description of answer 0: A cat."
    assert "6 objects: dog" in model.question()
    model.answers.put(completion("Five cats and a dog."))
    assert reports.next() == "Description of answer 5: Five cats and a dog."
    followers = [frame(6, "dog"), frame(7, "dog")]
    for follower in followers:
        sink.take(follower, None)
    assert [follower.extra.get("description", {}).get("number") for follower in followers] == [5, None]
    assert followers[0].to_json()["description"]["text"] == "Five cats and a dog."
    assert "1 object: dog" in model.question()
    model.answers.put(completion("A dog."))
    sink.close()
    record = sink.to_json()
    # Four answers were replaced by answer 5. Answer 7 replaced answer 6, or has the same labels.
    assert record["described"] == 3 and record["failed"] == 0 and record["error"] is None
    assert record["skipped"] + record["unchanged"] == 5 and record["skipped"] >= 4
    assert record["last"]["text"] == "A dog."
    assert 0 < record["latency_ms"]["p50"] <= record["latency_ms"]["p95"] <= record["latency_ms"]["max"]


def test_an_answer_with_the_same_labels_is_not_described_again(model: Model, address: str) -> None:
    sink = DescribeSink(ChatClient(address), every_s=0)
    model.answers.put(completion("A cat."))
    sink.take(frame(0, "cat"), None)
    model.question()
    number = 0
    while sink.unchanged == 0:
        number += 1
        sink.take(frame(number, "cat"), None)
    sink.take(frame(number + 1), None)
    assert "nothing was found" in model.question()
    model.answers.put(completion("Nothing."))
    sink.close()
    record = sink.to_json()
    assert record["described"] == 2 and record["unchanged"] >= 1
    assert record["described"] + record["unchanged"] + record["skipped"] == number + 2


def test_the_interval_holds_requests_back(model: Model, address: str) -> None:
    sink = DescribeSink(ChatClient(address), every_s=3600)
    model.answers.put(completion("A cat."))
    sink.take(frame(0, "cat"), None)
    model.question()
    for number in range(1, 4):
        sink.take(frame(number, *["dog"] * number), None)
    sink.close()
    assert sink.to_json() | {"latency_ms": {}, "last": None} == {
        "described": 1, "skipped": 3, "unchanged": 0, "failed": 0, "latency_ms": {}, "last": None, "error": None,
    }  # fmt: skip
    assert model.requests.empty()


def test_a_failure_is_reported_once_and_the_server_may_start_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arenite.host.camera.sinks.describe._RETRY_S", 0.01)
    port, reports = free_port(), Reports()
    sink = DescribeSink(ChatClient(f"http://127.0.0.1:{port}"), every_s=0, report=reports.lines.put)
    number = 0
    while sink.failed < 2:
        sink.take(frame(number, "cat"), None)
        number += 1
    line = reports.next()
    assert (
        line.startswith(f"No description: http://127.0.0.1:{port} cannot be reached")
        and "arenite serve" in line
    )
    assert "cannot be reached" in sink.to_json()["error"]
    with chat_server(lambda body: completion("A cat."), port):
        while sink.described == 0:
            sink.take(frame(number, "cat"), None)
            number += 1
        assert reports.next().endswith(": A cat.")  # the second failure was only counted
        sink.close()
    assert sink.to_json()["error"] is None


def test_the_end_waits_for_a_first_description_only(model: Model, address: str) -> None:
    """A short recording has ended before the thread looks at its first answer."""
    sink = DescribeSink(ChatClient(address), every_s=0)
    model.answers.put(completion("A cat."))
    sink.take(frame(0, "cat"), None)
    sink.close()
    assert sink.described == 1
    without_answers = DescribeSink(ChatClient(address), every_s=0)
    without_answers.close()
    assert without_answers.to_json()["last"] is None and without_answers.described == 0


def test_a_request_that_does_not_end_is_cut_off(model: Model, address: str) -> None:
    reports = Reports()
    sink = DescribeSink(ChatClient(address), every_s=0, report=reports.lines.put)
    sink.take(frame(0, "cat"), None)
    model.question()
    sink.finish(0.1)
    assert not any(thread.name == "describe" and thread.is_alive() for thread in threading.enumerate())
    assert (sink.described, sink.failed, sink.skipped) == (0, 0, 1)
    assert "not complete yet" in reports.next()
    model.answers.put(completion("late"))
