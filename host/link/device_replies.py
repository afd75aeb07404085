"""Parse the data of a device's replies. Each function raises ``ValueError`` if the data has the wrong length."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from arenite.host.link import health
from arenite.printable import printable

_HELLO = struct.Struct("<BBBBHHI8sI")
#: The most data bytes in one frame of the protocol.
MAX_CHUNK_BYTES = 240
START_REASONS = {0: "power-on", 1: "a request", 2: "a fault (invalid address, instruction or stack overflow)"}


def start_reason(number: int) -> str:
    """Return the reason of a device's last start as text. ``number`` is from its reply to MEMORY."""
    return START_REASONS.get(number, health.cause_text(number))


@dataclass(frozen=True)
class TensorInfo:
    """One input or output on the device: its size in bytes and its TFLite type code."""

    nbytes: int
    dtype: int


@dataclass(frozen=True)
class DeviceInfo:
    """The device's description of itself, from its reply to HELLO."""

    model: str
    model_hash: bytes  # first eight bytes of the image's SHA-256
    board: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    layer_count: int
    arena_bytes: int
    chunk_bytes: int  # the most data bytes in one frame
    tick_hz: int  # frequency of the device's counter; 0 if the board's profile states it


@dataclass(frozen=True)
class InferenceTicks:
    """The duration of one inference in counter ticks: ``total`` for all layers, ``init`` for the work before the first
    layer."""

    total: int
    init: int


@dataclass(frozen=True)
class DeviceMemory:
    """The use of the device's RAM, from its reply to MEMORY."""

    stack_used: int  # high-water mark in bytes; 0 if the port cannot measure it
    stack_bytes: int  # bytes that the linker script reserves for the stack
    guards_damaged: int  # number of damaged guard words around the arena
    started_by: str
    health: health.Health | None = (
        None  # None if the firmware does not report it or the caller did not request it
    )

    @property
    def stack_overflowed(self) -> bool:
        """Whether the stack may have overflowed: the last word of its region no longer has the fill pattern."""
        return 0 < self.stack_bytes <= self.stack_used


@dataclass(frozen=True)
class Greeting:
    """The reply to HELLO. It describes the device except its tensors, which DESCRIBE requests one by one."""

    input_count: int
    output_count: int
    layer_count: int
    chunk_bytes: int
    arena_bytes: int
    model_hash: bytes
    tick_hz: int
    model: str
    board: str


def parse_greeting(data: bytes) -> Greeting:
    """Parse the reply to HELLO. Control characters in the names are escaped, because the device chooses the names."""
    if len(data) < _HELLO.size:
        raise _wrong_length(data, f"at least {_HELLO.size}")
    _, inputs, outputs, _, layers, chunk, arena, model_hash, tick_hz = _HELLO.unpack_from(data)
    # A long model name fills the frame, so the board's name is cut off.
    model, board, *_ = [*data[_HELLO.size :].split(b"\0"), b""]
    return Greeting(
        inputs,
        outputs,
        layers,
        max(1, min(chunk, MAX_CHUNK_BYTES)),
        arena,
        model_hash,
        tick_hz,
        printable(model.decode("utf-8", "replace")),
        printable(board.decode("utf-8", "replace")),
    )


def parse_tensor(data: bytes) -> TensorInfo:
    """Parse the reply to DESCRIBE."""
    return TensorInfo(*_words(data, "<II"))


def parse_ticks(data: bytes) -> InferenceTicks:
    """Parse the reply to INFER."""
    return InferenceTicks(*_words(data, "<QI"))


def parse_memory(data: bytes) -> DeviceMemory:
    """Parse the reply to MEMORY."""
    used, reserved, damaged, reason = _words(data, "<4I")
    return DeviceMemory(used, reserved, damaged, start_reason(reason))


def _words(data: bytes, layout: str) -> tuple[int, ...]:
    if len(data) != struct.calcsize(layout):
        raise _wrong_length(data, str(struct.calcsize(layout)))
    return struct.unpack(layout, data)


def _wrong_length(data: bytes, expected: str) -> ValueError:
    return ValueError(f"{len(data)} bytes, expected {expected}")
