"""The messages of the Simple Management Protocol over MQTT, as JSON texts: an operator's requests and a gateway's
answers.

An operator opens a session with a device, sends requests in it, and closes it. The requests of a session are numbered
from 1. A gateway carries each number out once: a request that arrives again gets the answer that it got before.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any, Literal, get_args

from arenite.host.fleet.messages import MAX_INTEGER, MessageError, decode_fields

REQUEST = "arenite.smp-request/1"
ANSWER = "arenite.smp-answer/1"

#: The longest JSON text, and the longest message of the Simple Management Protocol in it: devices take no longer one.
MAX_PAYLOAD_BYTES, MAX_SMP_BYTES = 8192, 2048
#: The longest time for which a gateway tries to get an answer from the device.
MAX_WAIT_S = 10.0
_MAX_TEXT, _MAX_SESSION = 500, 64

#: ``open`` begins a session, or shows that it goes on; ``send`` is for the device; ``close`` ends the session.
Action = Literal["open", "send", "close"]
#: ``busy``: somebody else uses the device. ``no_session``: the gateway does not know the session. ``away``: the serial
#: port or the device is not there. ``silent``: the device did not answer this request. ``malformed``: the message
#: cannot be sent to a device.
Problem = Literal["busy", "no_session", "away", "silent", "malformed"]
_ACTIONS: dict[str, Action] = {action: action for action in get_args(Action)}
_PROBLEMS: dict[str, Problem] = {problem: problem for problem in get_args(Problem)}


@dataclass(frozen=True, slots=True)
class SmpRequest:
    action: Action
    session: str  # chosen at random by the operator's program
    number: int
    message: bytes = b""  # of the Simple Management Protocol, for ``send``
    wait_s: float = 5.0  # how long the gateway tries to get an answer
    is_slow: bool = False  # the device may work for half a second and more before it answers
    is_restarting: bool = False  # the device may be busy with its start


@dataclass(frozen=True, slots=True)
class SmpAnswer:
    session: str
    number: int
    message: bytes = b""  # the device's answer
    problem: Problem | None = None
    text: str = ""  # the problem as a sentence
    is_coded: bool = False  # whether the line to the device has forward error correction


def encode_smp_request(request: SmpRequest) -> bytes:
    fields: dict[str, Any] = {
        "schema": REQUEST,
        "action": request.action,
        "session": request.session,
        "number": request.number,
    }
    if request.action == "send":
        fields |= {
            "message": base64.b64encode(request.message).decode(),
            "wait_s": request.wait_s,
            "slow": request.is_slow,
            "restarting": request.is_restarting,
        }
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_smp_request(payload: bytes) -> SmpRequest:
    """Raises ``MessageError``."""
    fields = decode_fields(payload, REQUEST, MAX_PAYLOAD_BYTES)
    action = _ACTIONS.get(str(fields.get("action")))
    if action is None:
        raise MessageError(f"'action' must be {', '.join(_ACTIONS)}")
    session, number = _session(fields), _number(fields)
    if action != "send":
        return SmpRequest(action, session, number)
    wait_s = fields.get("wait_s")
    if isinstance(wait_s, bool) or not isinstance(wait_s, int | float) or not 0 < wait_s <= MAX_WAIT_S:
        raise MessageError(f"'wait_s' must be a number above 0, and at most {MAX_WAIT_S:g}")
    flags = {name: fields.get(name, False) for name in ("slow", "restarting")}
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise MessageError(f"'{name}' must be true or false")
    return SmpRequest(
        action, session, number, _message(fields), float(wait_s), flags["slow"], flags["restarting"]
    )


def encode_smp_answer(answer: SmpAnswer) -> bytes:
    fields: dict[str, Any] = {"schema": ANSWER, "session": answer.session, "number": answer.number}
    if answer.problem is not None:
        fields |= {"problem": answer.problem, "text": answer.text[:_MAX_TEXT]}
    elif answer.message:
        fields |= {"message": base64.b64encode(answer.message).decode(), "coded": answer.is_coded}
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_smp_answer(payload: bytes) -> SmpAnswer:
    """Raises ``MessageError``."""
    fields = decode_fields(payload, ANSWER, MAX_PAYLOAD_BYTES)
    session, number = _session(fields), _number(fields)
    if "problem" in fields:
        problem, text = _PROBLEMS.get(str(fields["problem"])), fields.get("text")
        if problem is None or not isinstance(text, str) or len(text) > _MAX_TEXT:
            raise MessageError(f"'problem' must be {', '.join(_PROBLEMS)}, and 'text' a sentence")
        return SmpAnswer(session, number, problem=problem, text=text)
    if "message" not in fields:
        return SmpAnswer(session, number)
    return SmpAnswer(session, number, _message(fields), is_coded=fields.get("coded") is True)


def _session(fields: dict[str, Any]) -> str:
    session = fields.get("session")
    if not isinstance(session, str) or not 0 < len(session) <= _MAX_SESSION:
        raise MessageError(f"'session' must be a text of 1 to {_MAX_SESSION} characters")
    return session


def _number(fields: dict[str, Any]) -> int:
    number = fields.get("number")
    if type(number) is not int or not 1 <= number < MAX_INTEGER:
        raise MessageError("'number' must be an integer from 1 to 2**53 - 1")
    return number


def _message(fields: dict[str, Any]) -> bytes:
    try:
        message = base64.b64decode(fields.get("message", ""), validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise MessageError("'message' must be base64") from error
    if not 0 < len(message) <= MAX_SMP_BYTES:
        raise MessageError(f"'message' must have 1 to {MAX_SMP_BYTES} bytes")
    return message
