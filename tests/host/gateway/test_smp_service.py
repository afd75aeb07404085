"""The requests of operators to one device: sessions, time limits and repeated requests. The device is its real C code
on a simulated line."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator

import pytest

from arenite.host.fleet.messages import MessageError
from arenite.host.fleet.topics import smp_topic
from arenite.host.gateway.smp_messages import (
    Action,
    SmpAnswer,
    SmpRequest,
    decode_smp_answer,
    decode_smp_request,
    encode_smp_answer,
    encode_smp_request,
)
from arenite.host.gateway.smp_service import IDLE_S, SmpService
from arenite.host.gateway.smp_session import SmpSession
from arenite.host.update.device_info import read_device
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.smp_message import (
    GROUP_ARENITE,
    GROUP_OS,
    READ,
    WRITE,
    decode_answer,
    encode_request,
)
from tests.docs.schemas import problems
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.firmware.update.update_board import BadLine, Board, BoardLine

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)
ECHO = encode_request(WRITE, GROUP_OS, 0, 1, {"d": "hello"})
DEVICE = encode_request(READ, GROUP_ARENITE, 0, 2, {})
RESET = encode_request(WRITE, GROUP_OS, 5, 3, {})


class Bench:
    """A service with its device, and operators with the names `ann` and `ben`."""

    def __init__(self, damage: float = 0.0) -> None:
        self.board, self.now = Board(), 0.0
        line = BoardLine(self.board)
        line.to_device, line.from_device = BadLine(1, damage), BadLine(2, damage)
        self.link = DeviceLink(line.open, None, clock=line.clock, wait=lambda seconds: None)
        read_device(self.link)
        self.said: list[str] = []
        self.service = SmpService("plant", "pump", self.said.append, lambda: self.now)
        self.service.publish = self._take
        self.service.set_here()
        self.answers: list[tuple[str, SmpAnswer]] = []
        self._stop = threading.Event()

    def send(self, operator: str, action: Action, number: int, message: bytes = b"") -> SmpAnswer | None:
        """Send a request and let the gateway work. Return the answer, or None if there is none."""
        self.answers.clear()
        self._stop.clear()
        request = encode_smp_request(SmpRequest(action, f"{operator}'s", number, message))
        self.service.receive(smp_topic("plant", "pump", "request", operator), request)
        # The service works until it has answered, or for a moment if it drops the request.
        timer = threading.Timer(0.3, self._stop.set)
        timer.start()
        self.service.serve(self.link, self._stop, lambda: False)
        timer.cancel()
        if not self.answers:
            return None
        [(topic, answer)] = self.answers
        assert topic == smp_topic("plant", "pump", "answer", operator)
        assert (answer.session, answer.number) == (f"{operator}'s", number)
        return answer

    def _take(self, topic: str, payload: bytes) -> None:
        self.answers.append((topic, decode_smp_answer(payload)))
        self._stop.set()


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    assert bench.board.violation is None
    bench.board.close()


def problem(answer: SmpAnswer | None) -> str | None:
    assert answer is not None
    return answer.problem


def test_a_vanished_operator_is_replaced_after_the_time_limit(bench: Bench) -> None:
    assert problem(bench.send("ann", "open", 1)) is None
    bench.now = IDLE_S - 1
    assert problem(bench.send("ben", "open", 1)) == "busy"
    assert problem(bench.send("ann", "send", 2, ECHO)) is None  # ann is still there
    bench.now = 2 * IDLE_S - 2
    assert problem(bench.send("ben", "open", 2)) == "busy"
    assert not bench.service.begin_own_use("The gateway installs.")
    bench.now = 2 * IDLE_S
    assert problem(bench.send("ben", "open", 3)) is None
    assert (
        f"the operator ann has sent nothing for {IDLE_S:.0f} s, so another one may use the device."
        in bench.said
    )
    assert problem(bench.send("ann", "send", 3, ECHO)) == "busy"
    assert problem(bench.send("ann", "close", 4)) is None  # which ends nothing of ben
    assert problem(bench.send("ben", "send", 4, ECHO)) is None
    assert problem(bench.send("ben", "close", 5)) is None
    assert problem(bench.send("ann", "send", 5, ECHO)) == "no_session"


def test_the_gateway_does_not_share_the_device_with_an_operator(bench: Bench) -> None:
    assert bench.service.begin_own_use("The gateway installs a release.")
    refused = bench.send("ann", "open", 1)
    assert problem(refused) == "busy" and refused is not None and "installs a release" in refused.text
    bench.service.end_own_use()
    assert problem(bench.send("ann", "open", 2)) is None
    bench.service.set_away("The cable is out.")
    away = bench.send("ann", "send", 3, ECHO)
    assert problem(away) == "away" and away is not None and away.text == "The cable is out."
    bench.service.set_here()
    assert (
        problem(bench.send("ann", "send", 3, ECHO)) is None
    )  # a request that was not carried out may come again


def test_a_request_is_carried_out_once(bench: Bench) -> None:
    bench.send("ann", "open", 7)
    first = bench.send("ann", "send", 8, RESET)
    assert bench.board.resets == 1 and bench.service.has_written
    for _ in range(3):
        assert bench.send("ann", "send", 8, RESET) == first
    assert bench.send("ann", "send", 6, RESET) is None  # from before the session
    assert bench.board.resets == 1
    for number in range(9, 9 + 70):
        assert problem(bench.send("ann", "send", number, DEVICE)) is None
    assert bench.send("ann", "send", 8, RESET) is None  # too old for the answers that are kept
    assert bench.board.resets == 1


def test_a_bad_line_and_any_bytes_do_no_harm() -> None:
    bench, chance = Bench(damage=0.01), random.Random(5)
    bench.send("ann", "open", 1)
    for number in range(2, 40):
        answer = bench.send("ann", "send", number, ECHO)
        assert answer is not None
        decoded = decode_answer(answer.message)
        assert decoded is not None and decoded.body == {"r": "hello"} and decoded.sequence == 1
    assert answer is not None and answer.is_coded
    for number in range(40, 60):
        body = chance.randbytes(chance.randrange(1, 60))
        answer = bench.send("ann", "send", number, encode_request(WRITE, 40, 0, 9, body))
        assert answer is not None
    assert problem(bench.send("ann", "send", 60, bytes(9))) == "malformed"
    assert problem(bench.send("ann", "send", 61, encode_request(WRITE, 0, 0, 9, bytes(600)))) == "malformed"
    for payload in (b"", b"[]", b'{"schema":"arenite.smp-request/1"}', chance.randbytes(100), b"[" * 5000):
        bench.service.receive(smp_topic("plant", "pump", "request", "ann"), payload)
    assert sum("is malformed" in text for text in bench.said) == 5
    bench.board.close()


def test_a_session_does_not_grow_without_limit() -> None:
    session = SmpSession("ann", "x", 1, 0.0)
    for number in range(1, 100):
        session.add(SmpRequest("send", "x", number, ECHO))
    assert len(session.drop_waiting()) == 32
    for number in range(1, 200):
        session.add(SmpRequest("send", "x", number, ECHO))
        assert session.next() is not None
        session.finish(number, b"%d" % number, is_kept=True)
    assert session.add(SmpRequest("send", "x", 150, ECHO)) == b"150"
    assert session.add(SmpRequest("send", "x", 100, ECHO)) is None and session.next() is None


def test_messages_fit_their_schemas_and_malformed_ones_are_refused() -> None:
    requests = (SmpRequest("open", "s", 1), SmpRequest("send", "s", 2, ECHO, 0.5, True, True))
    answers = (
        SmpAnswer("s", 1),
        SmpAnswer("s", 2, ECHO, is_coded=True),
        SmpAnswer("s", 3, problem="busy", text="The operator ann uses the device now."),
    )
    for request in requests:
        assert problems(json.loads(encode_smp_request(request))) == []
        assert decode_smp_request(encode_smp_request(request)) == request
    for answer in answers:
        assert problems(json.loads(encode_smp_answer(answer))) == []
        assert decode_smp_answer(encode_smp_answer(answer)) == answer
    good = json.loads(encode_smp_request(requests[1]))
    for change, words in (
        ({"schema": "arenite.smp-answer/1"}, "'schema' must be"),
        ({"action": "erase"}, "'action' must be open, send, close"),
        ({"session": ""}, "'session' must be a text of 1 to 64"),
        ({"number": 0}, "'number' must be an integer from 1"),
        ({"message": "!"}, "'message' must be base64"),
        ({"message": 5}, "'message' must be base64"),
        ({"message": ""}, "must have 1 to 2048 bytes"),
        ({"wait_s": True}, "'wait_s' must be a number"),
        ({"wait_s": 60}, "'wait_s' must be a number"),
        ({"slow": 1}, "'slow' must be true or false"),
    ):
        with pytest.raises(MessageError, match=words):
            decode_smp_request(json.dumps({**good, **change}).encode())
    with pytest.raises(MessageError, match="'problem' must be"):
        decode_smp_answer(json.dumps({**json.loads(encode_smp_answer(answers[2])), "problem": "?"}).encode())
