"""Requests to a device that takes updates over a serial port, which may damage bytes or disappear for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from arenite.errors import DeviceError
from arenite.host.link.transport import PortFullError, PortGoneError, Transport
from arenite.host.update.coded_frames import MAX_FRAME_BYTES, MAX_MESSAGE_BYTES, CodedDecoder, encode_coded
from arenite.host.update.link import ABSENCE_S, SILENCE_S, SilenceError
from arenite.host.update.plain_frames import PlainDecoder, encode_plain
from arenite.host.update.smp_message import Answer, Body, decode_answer, encode_request

#: How long the first answer may take, without the time of its bytes on the line.
ANSWER_S, _SLOW_ANSWER_S, _MAX_ANSWER_S = 0.1, 0.5, 2.0
_REOPEN_S = 0.2
#: Requests of an upload on their way in coded frames: one on the line, one that the device repairs and writes, and one
#: for the time in which bytes wait in USB adapters. The device takes one plain request at a time.
_WINDOW_CODED, _WINDOW_PLAIN = 3, 1
#: A frame without a byte for so long has lost the others. USB adapters and busy computers pause for less.
_SILENCE_IN_FRAME_S = 0.25


class DeviceLink:
    """A connection to a device. It survives a port that disappears and returns.

    ``open_port`` opens the port. ``use_code``: send coded frames only (True), plain frames only (False), or plain
    frames until a damaged or lost one shows that the line is bad, if the device takes coded ones (None). ``clock`` and
    ``wait`` are those of the line, for tests with a time of their own.
    """

    def __init__(
        self,
        open_port: Callable[[], Transport],
        use_code: bool | None = None,
        baud: int = 115_200,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._open_port, self.clock, self._wait = open_port, clock, wait
        self._use_code, self._byte_s = use_code, 10 / baud
        self.is_coded = use_code is True
        self.has_damage = self._takes_coded = False
        self._has_sent_coded = False
        self.reconnections = self.repeated = 0
        self.sequence = 0
        self._plain, self._coded = PlainDecoder(), CodedDecoder()
        self._answers: list[Answer] = []
        self._transport = open_port()

    @property
    def window(self) -> int:
        """How many requests of an upload may be on their way."""
        return _WINDOW_CODED if self.is_coded else _WINDOW_PLAIN

    @property
    def upload_answer_s(self) -> float:
        """How long the next answer of an upload may take: the device's time, and that of the frames on the line."""
        frame_s = self._byte_s * (MAX_FRAME_BYTES if self.is_coded else 2 * MAX_MESSAGE_BYTES)
        return ANSWER_S + (self.window + 1) * frame_s

    @property
    def repaired(self) -> int:
        """Bytes of answers that were wrong and were repaired."""
        return self._coded.repaired

    def close(self) -> None:
        if self._has_sent_coded:
            # A device that restarted in the middle of a frame took the rest of it as text. The frame has no newline, so
            # the next command would be a part of the same line.
            with suppress(PortGoneError, PortFullError):
                self._transport.write(b"\n")
        self._transport.close()

    def send(self, operation: int, group: int, command: int, body: Body, *, is_again: bool = False) -> int:
        """Send a request with the next ``sequence``, and return the number of bytes. ``is_again``: an earlier one was
        not answered, so what is left of it in the device is flushed."""
        self.sequence = (self.sequence + 1) & 255
        message = encode_request(operation, group, command, self.sequence, body)
        frame = encode_coded(message) if self.is_coded else encode_plain(message)
        flush = b"\n" * (MAX_FRAME_BYTES if is_again and len(frame) < MAX_FRAME_BYTES else 0)
        self._has_sent_coded |= self.is_coded
        self._transport.write(flush + frame)
        return len(flush + frame)

    def receive(self, timeout_s: float) -> Answer | None:
        """Return the next answer, or None if there is none for ``timeout_s``."""
        end = self.clock() + timeout_s
        while not self._answers:
            rest = end - self.clock()
            if rest <= 0:
                return None
            data = self._transport.read(min(rest, _SILENCE_IN_FRAME_S))
            damaged = self._plain.damaged + self._coded.damaged
            messages = [*self._coded.feed(data), *self._plain.feed(data)]
            if not data:
                messages = self._coded.end_silence()
            self.has_damage |= self._plain.damaged + self._coded.damaged > damaged
            answers = (decode_answer(message) for message in messages)
            self._answers += [answer for answer in answers if answer is not None]
        return self._answers.pop(0)

    def reconnect(self) -> None:
        """Open the port again. Wait up to a minute for it."""
        self._transport.close()
        self._answers.clear()
        self._plain, self._coded = PlainDecoder(), CodedDecoder()
        self.reconnections += 1
        end = self.clock() + ABSENCE_S
        while True:
            try:
                self._transport = self._open_port()
                return
            except DeviceError:
                if self.clock() > end:
                    raise
            self._wait(_REOPEN_S)

    def request(
        self,
        operation: int,
        group: int,
        command: int,
        body: Body | None = None,
        silence_s: float = SILENCE_S,
        *,
        is_slow: bool = False,
        is_restarting: bool = False,
    ) -> Answer:
        """Return the answer to a request. Repeat the request until it is answered. ``is_slow``: the device may work for
        half a second and more before it answers. ``is_restarting``: it may not read its port for minutes, so little is
        sent.

        Raises:
            SilenceError: The device does not answer for ``silence_s``.
            DeviceError: The port does not return.
        """
        end = self.clock() + silence_s
        answer_s = _SLOW_ANSWER_S if is_slow else ANSWER_S
        numbers: set[int] = set()  # of the requests that were sent
        tries = 0
        while self.clock() < end:
            tries += 1
            self.repeated += tries > 1
            try:
                is_again = tries > 1 and not is_restarting
                answer = self._try_request(operation, group, command, body or {}, answer_s, is_again, numbers)
            except PortGoneError:
                self.reconnect()
                end = self.clock() + silence_s
                continue
            except PortFullError:
                answer = None
            if answer is not None:
                return answer
            # A device that works or restarts is silent, although the line is good.
            if tries > (5 if is_restarting else 1 if is_slow else 0):
                self.has_damage = True
                self._change_frames(tries)
            answer_s = max(answer_s, min(1.5 * answer_s, _MAX_ANSWER_S))
        raise SilenceError(
            f"The device on {self._transport.port} did not answer requests of the update protocol for"
            f" {silence_s:.0f} s.",
            "Check the port, the baud rate, and that its firmware takes updates (docs/update-serial.md). If this"
            " computer or the device is busy, the answer may come later: try again.",
        )

    def try_request(self, operation: int, group: int, command: int, wait_s: float) -> Answer | None:
        """Send a request without data once. Return the answer, or None if it does not come in ``wait_s`` or the port
        takes no bytes.

        Raises:
            PortGoneError: The port has disappeared.
        """
        try:
            return self._try_request(operation, group, command, {}, wait_s, False, set())
        except PortFullError:
            return None

    def _try_request(
        self,
        operation: int,
        group: int,
        command: int,
        body: Body,
        answer_s: float,
        is_again: bool,
        numbers: set[int],
    ) -> Answer | None:
        sent_bytes = self.send(operation, group, command, body, is_again=is_again)
        numbers.add(self.sequence)
        end = self.clock() + answer_s + (sent_bytes + MAX_FRAME_BYTES) * self._byte_s
        while (rest := end - self.clock()) > 0:
            answer = self.receive(rest)
            if (
                answer is not None
                and answer.sequence in numbers
                and (answer.group, answer.command) == (group, command)
            ):
                return answer
        return None

    def _change_frames(self, tries: int) -> None:
        """Try the other kind of frames after an answer that did not come. The kind that is answered stays."""
        if self._use_code is None or (self._use_code and tries % 3 == 0):
            self.is_coded = not self.is_coded

    def settle(self, takes_coded: bool) -> None:
        """Choose the kind of frames, once the device has told whether it takes coded ones."""
        if not takes_coded:
            self._use_code = self.is_coded = False
        self._takes_coded = takes_coded
        if self.has_damage or self._use_code:
            self.use_coded_if_taken()

    def use_coded_if_taken(self) -> None:
        """Send coded frames from now on, unless the device does not take them or the user does not want them."""
        if self._takes_coded and self._use_code is not False:
            self._use_code = self.is_coded = True
