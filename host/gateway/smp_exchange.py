"""Pass one request of an operator on to the device on the serial port."""

from __future__ import annotations

from arenite.errors import DeviceError
from arenite.host.gateway.smp_messages import Problem, SmpAnswer, SmpRequest
from arenite.host.link.transport import PortGoneError
from arenite.host.update.coded_frames import MAX_MESSAGE_BYTES
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.smp_message import (
    GROUP_OS,
    WRITE,
    Answer,
    Request,
    decode_request,
    encode_answer,
)

_RESET = (WRITE, GROUP_OS, 5)
#: How long the answer to a reset may take. It is sent once: a second reset would count as a failed trial of an image.
_RESET_ANSWER_S = 1.0


def exchange(link: DeviceLink, request: SmpRequest) -> SmpAnswer:
    """Return the device's answer, or the problem if it does not answer or the message cannot be sent.

    Raises:
        PortGoneError: The serial port has disappeared.
    """
    message = decode_request(request.message)
    if message is None:
        return _problem(request, "malformed", "The message is no request of the Simple Management Protocol.")
    if len(request.message) > MAX_MESSAGE_BYTES:
        return _problem(
            request,
            "malformed",
            f"The message has {len(request.message)} bytes, and a device takes at most {MAX_MESSAGE_BYTES}.",
        )
    try:
        answer = _ask(link, request, message)
    except PortGoneError:
        raise
    except DeviceError as error:
        return _problem(request, "silent", error.problem)
    if link.has_damage:
        link.use_coded_if_taken()
    if answer is None:
        return _problem(request, "silent", "The device did not answer the request to reset.")
    return SmpAnswer(
        request.session, request.number, encode_answer(message, answer.data), is_coded=link.is_coded
    )


def is_write(request: SmpRequest) -> bool:
    """Return whether the request may change the device."""
    message = decode_request(request.message)
    return message is not None and message.operation == WRITE


def _ask(link: DeviceLink, request: SmpRequest, message: Request) -> Answer | None:
    if (message.operation, message.group, message.command) == _RESET:
        return link.try_request(*_RESET, wait_s=_RESET_ANSWER_S)
    return link.request(
        message.operation,
        message.group,
        message.command,
        message.data,
        request.wait_s,
        is_slow=request.is_slow,
        is_restarting=request.is_restarting,
    )


def _problem(request: SmpRequest, problem: Problem, text: str) -> SmpAnswer:
    return SmpAnswer(request.session, request.number, problem=problem, text=text)
