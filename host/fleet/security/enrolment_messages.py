"""What a device and the server tell each other when the device joins the fleet: JSON over HTTPS."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from arenite.input_files import parse_json

REQUEST, ANSWER = "arenite.enrolment-request/1", "arenite.enrolment/1"
#: The name of the enrolment server in its certificate. Devices check it instead of the host name, because they reach
#: the server by any name or address; only the authority of the fleet gives it away.
SERVER_NAME = "enrolment.arenite.invalid"
#: The paths of the authority's certificate, which is no secret, and of requests.
AUTHORITY_PATH, ENROL_PATH = "/authority.pem", "/enrol"
MAX_REQUEST_BYTES = 32_768
DEFAULT_PORT = 8884


class EnrolmentMessageError(ValueError):
    """A message is malformed."""


@dataclass(frozen=True, slots=True)
class EnrolmentRequest:
    secret: str
    request: str  # certificate signing request, PEM text


@dataclass(frozen=True, slots=True)
class EnrolmentAnswer:
    fleet: str
    device: str
    certificate: str  # PEM text
    broker_port: int


def encode_request(request: EnrolmentRequest) -> bytes:
    return json.dumps({"schema": REQUEST, "code": request.secret, "request": request.request}).encode()


def decode_request(data: bytes) -> EnrolmentRequest:
    """Raises ``EnrolmentMessageError``."""
    value = _object(data, REQUEST)
    return EnrolmentRequest(_text(value, "code"), _text(value, "request"))


def encode_answer(answer: EnrolmentAnswer) -> bytes:
    return json.dumps(
        {
            "schema": ANSWER,
            "fleet": answer.fleet,
            "device": answer.device,
            "certificate": answer.certificate,
            "broker_port": answer.broker_port,
        }
    ).encode()


def decode_answer(data: bytes) -> EnrolmentAnswer:
    """Raises ``EnrolmentMessageError``."""
    value = _object(data, ANSWER)
    port = value.get("broker_port")
    if type(port) is not int or not 0 < port < 65536:
        raise EnrolmentMessageError("its broker_port is not a port")
    return EnrolmentAnswer(_text(value, "fleet"), _text(value, "device"), _text(value, "certificate"), port)


def _object(data: bytes, schema: str) -> dict[str, Any]:
    try:
        value = parse_json(data.decode())
    except (ValueError, RecursionError) as error:
        raise EnrolmentMessageError("it is not JSON") from error
    if not isinstance(value, dict) or value.get("schema") != schema:
        raise EnrolmentMessageError(f"its schema is not {schema}")
    return value


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise EnrolmentMessageError(f"it has no text '{name}'")
    return text
