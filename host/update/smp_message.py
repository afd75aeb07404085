"""Messages of the Simple Management Protocol: a header of eight bytes and a map in CBOR."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from arenite.errors import UsageError
from arenite.host.update.keys import INSTALL

READ, WRITE = 0, 2
GROUP_OS, GROUP_IMAGE, GROUP_STATISTICS, GROUP_ARENITE = 0, 1, 2, 64
_HEADER = struct.Struct(">BBHHBB")
_VERSION_2 = 1 << 3

#: The map of a message, or its bytes in CBOR.
Body = dict[str, Any] | bytes


@dataclass(frozen=True)
class Request:
    """What a device is asked. ``operation`` is ``READ`` or ``WRITE``, and ``data`` the map in CBOR, unchecked."""

    operation: int
    group: int
    command: int
    sequence: int
    data: bytes


@dataclass(frozen=True)
class Answer:
    """What a device answered. ``data`` is ``body`` in CBOR."""

    group: int
    command: int
    sequence: int
    body: dict[str, Any]
    data: bytes

    @property
    def error(self) -> int:
        """The error, or 0. The group to which it belongs is not told: both kinds of errors have one range here."""
        error = self.body.get("err")
        number = error.get("rc", 0) if isinstance(error, dict) else self.body.get("rc", 0)
        return number if isinstance(number, int) else 0


def encode_request(operation: int, group: int, command: int, sequence: int, body: Body) -> bytes:
    """Return a message for the device."""
    data = body if isinstance(body, bytes) else _encode(body)
    return _HEADER.pack(operation | _VERSION_2, 0, len(data), group, sequence, command) + data


def encode_answer(request: Request, data: bytes) -> bytes:
    """Return the message that answers ``request`` with ``data``, a map in CBOR."""
    return encode_request(request.operation + 1, request.group, request.command, request.sequence, data)


def decode_request(message: bytes) -> Request | None:
    """Return the request in ``message``, or None if it is not one."""
    return _split(message, (READ, WRITE))


def decode_answer(message: bytes) -> Answer | None:
    """Return the answer in ``message``, or None if it is not one."""
    import cbor2

    parts = _split(message, (READ + 1, WRITE + 1))
    if parts is None:
        return None
    try:
        body = cbor2.loads(parts.data)
    except (cbor2.CBORDecodeError, ValueError, TypeError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    return Answer(parts.group, parts.command, parts.sequence, body, parts.data)


def _encode(body: dict[str, Any]) -> bytes:
    try:
        import cbor2
    except ImportError as error:
        raise UsageError("Updates over a serial port need the package cbor2.", INSTALL) from error
    return bytes(cbor2.dumps(body))


def _split(message: bytes, operations: tuple[int, int]) -> Request | None:
    """Return the parts of ``message`` if it has one of ``operations``."""
    if len(message) < _HEADER.size:
        return None
    operation, _, length, group, sequence, command = _HEADER.unpack_from(message)
    if operation & 7 not in operations or length != len(message) - _HEADER.size:
        return None
    return Request(operation & 7, group, command, sequence, message[_HEADER.size :])
