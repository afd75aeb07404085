"""A link to a device behind a gateway: requests and answers go through the broker (``Link``)."""

from __future__ import annotations

import secrets
import time
from typing import Any

from arenite.errors import DeviceError
from arenite.host.gateway.device_url import DeviceUrl
from arenite.host.gateway.operator_connection import OperatorConnection
from arenite.host.gateway.smp_messages import Action, SmpAnswer, SmpRequest, encode_smp_request
from arenite.host.link.transport import PortGoneError
from arenite.host.update.link import ABSENCE_S, SILENCE_S
from arenite.host.update.smp_message import Answer, decode_answer, encode_request

#: How long the gateway tries to get one answer from the device, and how long its own answer may take in addition.
_TRY_S, _MARGIN_S = 5.0, 5.0
#: How long the first answer of a gateway may take, also if the broker knows of nobody who receives requests.
_OPEN_S, _NOBODY_S = 10.0, 2.0
#: The time after which a request is sent again, the same for the one that opens a session, and that between two looks
#: at a lost connection.
_AGAIN_S, _OPEN_AGAIN_S, _RETRY_S = 2.0, 0.7, 0.5
#: Requests of an upload on their way: enough for a broker that is 200 ms away.
_WINDOW = 8


class RemoteLink:
    """The only session with the device of ``url``, until ``close``.

    Raises:
        DeviceError: The broker cannot be reached or refuses the user, no gateway answers, the device does not answer,
            or somebody else uses it.
        UsageError: A certificate cannot be used, or a package is missing.
    """

    def __init__(self, url: DeviceUrl) -> None:
        self.url = url
        self.sequence = 0
        self.has_damage = False
        self.is_coded = False  # whether the gateway sends frames with forward error correction to the device
        self._session, self._number = secrets.token_hex(8), 0
        self._problem = ""  # why the device did not answer last, from the gateway
        self._connection = OperatorConnection(url)
        try:
            self._begin()
        except BaseException:
            self._connection.close()
            raise

    @property
    def window(self) -> int:
        return _WINDOW

    @property
    def upload_answer_s(self) -> float:
        return _TRY_S + _MARGIN_S

    def clock(self) -> float:
        return time.monotonic()

    def close(self) -> None:
        """End the session, so that others may use the device at once."""
        try:
            if self._connection.wait(0):
                self._try_action("close", _AGAIN_S)
        except DeviceError:
            pass  # the gateway ends the session by itself
        finally:
            self._connection.close()

    def send(
        self, operation: int, group: int, command: int, body: dict[str, Any], *, is_again: bool = False
    ) -> int:
        """See ``Link``. The gateway sends a request again if the line loses it, so ``is_again`` changes nothing."""
        payload = self._next(operation, group, command, body, _TRY_S)
        self._connection.publish(payload)
        return len(payload)

    def receive(self, timeout_s: float) -> Answer | None:
        """See ``Link``."""
        end = self.clock() + timeout_s
        while (rest := end - self.clock()) > 0:
            answer = self._connection.take(rest)
            if answer is None:
                break
            if answer.session == self._session:
                return self._smp_answer(answer)
        if timeout_s >= self.upload_answer_s:
            raise self._no_gateway()
        return None

    def reconnect(self) -> None:
        """See ``Link``."""
        end = self.clock() + ABSENCE_S
        error: DeviceError | None = None
        while self.clock() < end:
            try:
                if self._connection.wait(_RETRY_S):
                    self._open(_AGAIN_S)
                    return
            except PortGoneError as gone:
                error = gone
                time.sleep(_RETRY_S)
        raise error or DeviceError(
            f"The broker {self.url.broker.name} cannot be reached for {ABSENCE_S:.0f} s.",
            "Run the command again when it is back: an upload goes on where it stopped.",
        )

    def request(
        self,
        operation: int,
        group: int,
        command: int,
        body: dict[str, Any] | None = None,
        silence_s: float = SILENCE_S,
        *,
        is_slow: bool = False,
        is_restarting: bool = False,
    ) -> Answer:
        """See ``Link``."""
        end = self.clock() + silence_s
        while True:
            wait_s = min(_TRY_S, max(end - self.clock(), 1.0))
            payload = self._next(
                operation, group, command, body or {}, wait_s, is_slow=is_slow, is_restarting=is_restarting
            )
            try:
                answer = self._exchange(payload, wait_s)
            except PortGoneError:
                self.reconnect()
                end = self.clock() + silence_s
                continue
            if answer is not None:
                return answer
            if self.clock() >= end:
                raise DeviceError(
                    f"The gateway answers, but not the device {self.url.name}: {self._problem}",
                    "Check that the firmware of the device takes updates (docs/update-serial.md).",
                )

    def try_request(self, operation: int, group: int, command: int, wait_s: float) -> Answer | None:
        """See ``Link``. The gateway sends the request to the device once, however often it gets it."""
        return self._exchange(self._next(operation, group, command, {}, wait_s), wait_s)

    def settle(self, takes_coded: bool) -> None:
        """See ``Link``. The gateway chooses the frames."""

    def use_coded_if_taken(self) -> None:
        """See ``Link``. The gateway chooses the frames."""

    def _next(
        self,
        operation: int,
        group: int,
        command: int,
        body: dict[str, Any],
        wait_s: float,
        *,
        is_slow: bool = False,
        is_restarting: bool = False,
    ) -> bytes:
        """Return the next request."""
        self._number += 1
        self.sequence = self._number & 255
        message = encode_request(operation, group, command, self.sequence, body)
        return encode_smp_request(
            SmpRequest("send", self._session, self._number, message, wait_s, is_slow, is_restarting)
        )

    def _exchange(self, payload: bytes, wait_s: float) -> Answer | None:
        """Send a request, again if the gateway does not answer. Return the device's answer, or None if it gave none."""
        number = self._number
        self._connection.publish(payload)
        end = self.clock() + wait_s + _MARGIN_S
        again = self.clock() + wait_s + _AGAIN_S
        while self.clock() < end:
            answer = self._connection.take(min(end, again) - self.clock())
            if answer is not None and (answer.session, answer.number) == (self._session, number):
                return self._smp_answer(answer)
            if self.clock() >= again:
                self._connection.publish(payload)
                again += _AGAIN_S
        raise self._no_gateway()

    def _smp_answer(self, answer: SmpAnswer) -> Answer | None:
        """Return the device's answer, or None if it gave none. Raises the other problems as errors."""
        if answer.problem == "silent":
            self._problem = answer.text
            return None
        if answer.problem in ("away", "no_session"):
            raise PortGoneError(answer.text, "Check what the gateway prints.")
        if answer.problem == "busy":
            raise DeviceError(answer.text, "Wait until that has ended, and run the command again.")
        if answer.problem is not None:
            raise DeviceError(answer.text, "Use the same version of Arenite here and for the gateway.")
        self.is_coded = answer.is_coded
        return decode_answer(answer.message)

    def _begin(self) -> None:
        """Open the session for the first time. Tell what is missing if nobody answers."""
        begin = self.clock()
        while not self._try_action("open", _OPEN_AGAIN_S):
            passed = self.clock() - begin
            if passed > _OPEN_S or (passed > _NOBODY_S and self._connection.has_no_receiver):
                raise self._no_gateway()

    def _open(self, wait_s: float) -> None:
        if not self._try_action("open", wait_s):
            raise self._no_gateway()

    def _try_action(self, action: Action, wait_s: float) -> bool:
        """Open or close the session. Return whether the gateway has answered. Raises the errors of ``_smp_answer``."""
        self._number += 1
        self._connection.publish(encode_smp_request(SmpRequest(action, self._session, self._number)))
        end = self.clock() + wait_s
        while (rest := end - self.clock()) > 0:
            answer = self._connection.take(rest)
            if answer is not None and (answer.session, answer.number) == (self._session, self._number):
                if answer.problem is not None:
                    self._smp_answer(answer)
                return True
        return False

    def _no_gateway(self) -> PortGoneError:
        """Return the error for a gateway that does not answer."""
        device, status = self.url.device, self._connection.status
        if status is None:
            return PortGoneError(
                f"The broker {self.url.broker.name} knows no device '{device}' in the fleet '{self.url.fleet}'.",
                "Check the names. A device is known once its gateway has reached it.",
            )
        if status.is_online:
            return PortGoneError(
                f"The device '{device}' is online, but nobody takes requests of the update protocol for it.",
                "Start its gateway with --smp, and let it read them in the broker's access rules (docs/gateway.md).",
            )
        return PortGoneError(
            f"The device '{device}' is offline, and no gateway takes requests of the update protocol for it.",
            "Start `arenite gateway` with --smp, and look at what it prints.",
        )
