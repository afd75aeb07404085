"""Valid inputs of each fuzz target, from which a fuzzer starts."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

import numpy as np

from arenite.host.link.client import DESCRIBE, HEALTH, HELLO, INFER, LOG, MEMORY, READ, RESTART, WRITE
from arenite.host.link.frames import encode_frame
from tests.fuzz.coverage.python_corpora import PYTHON_CORPORA


def _requests() -> list[bytes]:
    """Return requests of a host to the agent, without CRCs and frames. Each has a sequence number, a command, two
    arguments and data."""
    bodies = [
        bytes([HELLO, 0, 1]),
        bytes([DESCRIBE, 0, 0]),
        bytes([DESCRIBE, 1, 0]),
        bytes([WRITE, 0, 0]) + struct.pack("<I", 0) + bytes(range(8)),
        bytes([WRITE, 0, 0]) + struct.pack("<I", 0) + bytes(range(192)),
        bytes([INFER, 1, 0]),
        bytes([READ, 1, 0]) + struct.pack("<II", 0, 4),
        bytes([READ, 2, 0]) + struct.pack("<II", 0, 4),
        bytes([MEMORY, 0, 0]),
        bytes([HEALTH, 0, 0]),
        bytes([LOG, 0, 0]) + struct.pack("<II", 0, 12),
        bytes([LOG, 1, 0]) + struct.pack("<II", 2, 0),
        bytes([RESTART, 0, 0]),
    ]
    return [bytes([k + 1]) + body for k, body in enumerate(bodies)]


def agent() -> Iterable[bytes]:
    """Yield lists of requests (first byte 1) and bytes for the serial port (first byte 0), as in agent_target.c."""
    requests = _requests()
    yield b"\1" + b"".join(bytes([len(r)]) + r for r in requests)
    for request in requests:
        yield b"\1" + b"".join(bytes([len(r)]) + r for r in (requests[0], request))
        yield b"\0" + encode_frame(requests[0]) + encode_frame(request)


def monitor() -> Iterable[bytes]:
    """Yield sequences of the monitor's commands, each of which ends with %."""
    load = "db load 8%db 0001020304050607%db print%"
    reals = "db load 32%db " + np.linspace(-2, 2, 8, dtype="<f4").tobytes().hex() + "%"
    for text in (
        "name%profile%timestamp%help%",
        f"{load}infer 2 1%results%raw%",
        f"{reals}infer%results%",
        "x%",
    ):
        yield text.encode()


def engine() -> Iterable[bytes]:
    """Yield the number of a model (2 bytes), the fill of the arena (1 byte) and input values."""
    rng = np.random.default_rng(0)
    for k in range(0, 256, 4):
        yield bytes([k, 0, 0x5A]) + rng.bytes(64)
    yield bytes([0, 0, 0]) + np.array([np.nan, np.inf, -np.inf, 1e38, -0.0], "<f4").tobytes()


def processing() -> Iterable[bytes]:
    """Yield the number of a function of processing_calls.h (1 byte) and input values."""
    rng = np.random.default_rng(1)
    for k in range(24):
        yield bytes([k]) + rng.bytes(256)
        yield bytes([k]) + rng.standard_normal(40).astype("<f4").tobytes()


#: The seed inputs of each target, by the target's name.
CORPORA: dict[str, Callable[[], Iterable[bytes]]] = {
    "agent": agent,
    "agent_stream": agent,
    "monitor": monitor,
    "engine": engine,
    "processing": processing,
    **PYTHON_CORPORA,
}
