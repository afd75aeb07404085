"""Let operators send requests of the Simple Management Protocol to a device through the broker, one operator at a time.

``receive`` is called in the thread of the connection to the broker, and everything else in the thread of the device.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from arenite.host.fleet.messages import MessageError
from arenite.host.fleet.topics import is_operator, smp_topic
from arenite.host.gateway.smp_exchange import exchange, is_write
from arenite.host.gateway.smp_messages import (
    Problem,
    SmpAnswer,
    SmpRequest,
    decode_smp_request,
    encode_smp_answer,
)
from arenite.host.gateway.smp_session import SmpSession
from arenite.host.link.transport import PortGoneError
from arenite.host.update.device_link import DeviceLink

#: A session without a request for so long is over.
IDLE_S = 30.0
_WAIT_S = 0.2


class SmpService:
    """The requests to one device. ``report`` is called with a sentence when an operator begins and ends."""

    def __init__(
        self,
        fleet: str,
        device: str,
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.topic_filter = smp_topic(fleet, device, "request", "+")
        #: Publishes a payload on a topic. The owner sets it.
        self.publish: Callable[[str, bytes], None] = lambda topic, payload: None
        #: Whether an operator has sent a request that may have changed the device. The owner sets it back.
        self.has_written = False
        self._fleet, self._device, self._report, self._clock = fleet, device, report, clock
        self._change = threading.Condition()
        self._session: SmpSession | None = None
        self._away = "The gateway has not reached the device yet."
        self._own_use = ""

    def receive(self, topic: str, payload: bytes) -> None:
        """Take a message of an operator."""
        operator = topic.rpartition("/")[2]
        if not is_operator(operator):
            return
        try:
            request = decode_smp_request(payload)
        except MessageError as error:
            self._report(f"a request of the operator {operator} is malformed: {error}.")
            return
        with self._change:
            answer = self._take(operator, request)
        if answer is not None:
            self.publish(self._answer_topic(operator), answer)

    @property
    def has_session(self) -> bool:
        """Whether an operator uses the device now."""
        with self._change:
            self._end_if_over()
            return self._session is not None

    def set_away(self, problem: str) -> None:
        """Refuse requests with the sentence ``problem``, until ``set_here``: the device does not answer."""
        with self._change:
            self._away = problem
            if self._session is None:
                return
            topic = self._answer_topic(self._session.operator)
            answers = [_refusal(request, "away", problem) for request in self._session.drop_waiting()]
        for answer in answers:
            self.publish(topic, answer)

    def set_here(self) -> None:
        """Take requests."""
        with self._change:
            self._away = ""

    def begin_own_use(self, problem: str) -> bool:
        """Refuse operators with the sentence ``problem`` until ``end_own_use``: the gateway uses the device itself.
        Return False if an operator uses it now."""
        with self._change:
            self._end_if_over()
            if self._session is not None:
                return False
            self._own_use = problem
            return True

    def end_own_use(self) -> None:
        with self._change:
            self._own_use = ""

    def serve(self, link: DeviceLink, stop: threading.Event, has_release: Callable[[], bool]) -> None:
        """Carry out the operator's requests until the session is over or ``stop`` is set. ``has_release`` tells whether
        a release waits for its end.

        Raises:
            PortGoneError: The serial port has disappeared. The operator was told, and the session goes on.
        """
        is_told = False
        while not stop.is_set():
            with self._change:
                self._end_if_over()
                session = self._session
                if session is None:
                    return
                if has_release() and not is_told:
                    is_told = True
                    self._report(f"the release waits until the operator {session.operator} has finished.")
                request = session.next()
                if request is None:
                    self._change.wait(_WAIT_S)
                    continue
            self._carry_out(link, session, request)

    def _carry_out(self, link: DeviceLink, session: SmpSession, request: SmpRequest) -> None:
        self.has_written |= is_write(request)
        try:
            answer = exchange(link, request)
        except PortGoneError as error:
            self._answer(session, request, _refusal(request, "away", error.problem), is_kept=False)
            raise
        self._answer(session, request, encode_smp_answer(answer), is_kept=True)

    def _answer(self, session: SmpSession, request: SmpRequest, answer: bytes, *, is_kept: bool) -> None:
        with self._change:
            session.finish(request.number, answer, is_kept=is_kept)
            session.used = self._clock()
        self.publish(self._answer_topic(session.operator), answer)

    def _take(self, operator: str, request: SmpRequest) -> bytes | None:
        """Return an answer, or None if there is none yet."""
        self._end_if_over()
        session = self._session
        if session is not None and not session.belongs_to(operator, request.session):
            if request.action == "close":
                return encode_smp_answer(SmpAnswer(request.session, request.number))
            return _refusal(request, "busy", f"The operator {session.operator} uses the device now.")
        if session is None and request.action == "send":
            return _refusal(request, "no_session", "The gateway does not know the session, or it is over.")
        if request.action == "close":
            if session is not None:
                self._end("has finished")
            return encode_smp_answer(SmpAnswer(request.session, request.number))
        if self._own_use:
            return _refusal(request, "busy", self._own_use)
        if self._away:
            if session is not None:
                session.used = self._clock()
            return _refusal(request, "away", self._away)
        if session is None:
            self._session = session = SmpSession(operator, request.session, request.number, self._clock())
            self._report(f"the operator {operator} uses the device through the broker.")
        session.used = self._clock()
        self._change.notify()
        if request.action == "open":
            return encode_smp_answer(SmpAnswer(request.session, request.number))
        return session.add(request)

    def _end_if_over(self) -> None:
        if self._session is not None and self._session.is_over(self._clock(), IDLE_S):
            self._end(f"has sent nothing for {IDLE_S:.0f} s, so another one may use the device")

    def _end(self, what: str) -> None:
        assert self._session is not None
        self._report(f"the operator {self._session.operator} {what}.")
        self._session = None
        self._change.notify()

    def _answer_topic(self, operator: str) -> str:
        return smp_topic(self._fleet, self._device, "answer", operator)


def _refusal(request: SmpRequest, problem: Problem, text: str) -> bytes:
    return encode_smp_answer(SmpAnswer(request.session, request.number, problem=problem, text=text))
