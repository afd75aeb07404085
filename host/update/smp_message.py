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


@dataclass(frozen=True)
class Answer:
    """What a device answered."""

    group: int
    command: int
    sequence: int
    body: dict[str, Any]

    @property
    def error(self) -> int:
        """The error, or 0. The group to which it belongs is not told: both kinds of errors have one range here."""
        error = self.body.get("err")
        number = error.get("rc", 0) if isinstance(error, dict) else self.body.get("rc", 0)
        return number if isinstance(number, int) else 0


def encode_request(operation: int, group: int, command: int, sequence: int, body: dict[str, Any]) -> bytes:
    """Return a message for the device."""
    try:
        import cbor2
    except ImportError as error:
        raise UsageError("Updates over a serial port need the package cbor2.", INSTALL) from error
    data = cbor2.dumps(body)
    return _HEADER.pack(operation | _VERSION_2, 0, len(data), group, sequence, command) + data


def decode_answer(message: bytes) -> Answer | None:
    """Return the answer in ``message``, or None if it is not one."""
    import cbor2

    if len(message) < _HEADER.size:
        return None
    operation, _, length, group, sequence, command = _HEADER.unpack_from(message)
    if operation & 7 not in (READ + 1, WRITE + 1) or length != len(message) - _HEADER.size:
        return None
    try:
        body = cbor2.loads(message[_HEADER.size :])
    except (cbor2.CBORDecodeError, ValueError, TypeError, RecursionError):
        return None
    return Answer(group, command, sequence, body) if isinstance(body, dict) else None
