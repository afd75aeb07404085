"""Receive the messages of an application on a serial port, and connect again when the port comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from arenite.errors import DeviceError
from arenite.host.link.transport import PortGoneError, SerialTransport, Transport
from arenite.host.live.message_decoder import MessageDecoder
from arenite.host.live.messages import Message

#: Seconds without a frame, after which the application is asked again: it may have started again.
ASK_AGAIN_S = 3.0
#: Seconds between two attempts to open a port that has disappeared.
RETRY_S = 0.5
#: Seconds to wait for bytes, after which the caller gets a :class:`Pause`.
READ_S = 0.1


@dataclass(frozen=True)
class Connected:
    """The port is open. ``is_again`` is true after a disconnection."""

    port: str
    is_again: bool


@dataclass(frozen=True)
class Disconnected:
    """The port has disappeared; ``problem`` is a sentence."""

    port: str
    problem: str


@dataclass(frozen=True)
class Ended:
    """The recording that an emulated board heard has ended."""


@dataclass(frozen=True)
class Pause:
    """No message arrived for a tenth of a second."""


Notice = Connected | Disconnected | Ended | Pause


def port_messages(
    port: str, baud: int, command: str, is_stopped: Callable[[], bool]
) -> Iterator[Message | Notice]:
    """Yield the messages of the application on ``port`` until ``is_stopped`` returns true. If the port disappears,
    wait for it. At the end, the application is asked for text again.

    Args:
        port: the path of the port.
        baud: its speed.
        command: the command that makes the application send messages, such as ``binary samples``.
        is_stopped: called at least every second.

    Raises:
        DeviceError: the port cannot be opened at first.
    """
    is_again = False
    while not is_stopped():
        try:
            transport = SerialTransport(port, baud)
        except DeviceError:
            if not is_again:
                raise
            yield Pause()
            time.sleep(RETRY_S)
            continue
        yield Connected(port, is_again)
        is_again = True
        with transport:
            try:
                yield from receive(transport, command, is_stopped)
                transport.write(b"\ntext\n")
            except PortGoneError as error:
                yield Disconnected(port, error.problem)


def receive(transport: Transport, command: str, is_stopped: Callable[[], bool]) -> Iterator[Message | Notice]:
    """Send ``command`` and yield the messages that arrive, until ``is_stopped`` returns true. Raises the errors of
    ``transport``."""
    decoder = MessageDecoder()
    asked = 0.0
    while not is_stopped():
        now = time.monotonic()
        if now - max(asked, decoder.last_frame_s) > ASK_AGAIN_S:
            transport.write(f"\n{command}\n".encode())
            asked = now
        data = transport.read(READ_S)
        if not data:
            yield Pause()
        yield from decoder.feed(data)
