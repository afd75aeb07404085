"""Read the text that a device sends line by line, with the time of arrival of each line.

Firmware other than Arenite's, a boot ROM and a crash report send such lines. Arenite firmware only answers requests;
``device_log`` reads its log.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from arenite.errors import DeviceError
from arenite.host.link.transport import PortGoneError, SerialTransport
from arenite.printable import printable

#: A longer line is shown in parts.
MAX_LINE_BYTES = 2000
QUIET_S = 0.3  # after this time without data an incomplete line is shown
RETRY_S = 0.25  # time between attempts to open a port that disappeared
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class LogLine:
    """One line without its line end.

    ``at``: time of arrival of the first byte, in seconds since 1970. ``event``: the kind of a line that the host adds,
    such as "connected" or "lost"; "" for a line from the device.
    """

    at: float
    text: str
    event: str = ""


def readable(data: bytes) -> str:
    """Return UTF-8 text without color codes. Other bytes and control characters become ``\\xNN``, so the output cannot
    control the terminal."""
    text = _COLORS.sub("", data.decode("utf-8", "backslashreplace"))
    return printable(text, keep="\t")


class LineReader:
    """Splits bytes into lines. A line ends with LF or CR LF, and CR and LF may arrive separately."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._pending = b""
        self._since = 0.0
        self._latest = 0.0

    def feed(self, data: bytes) -> Iterator[LogLine]:
        """Yield the lines that ``data`` completes. The caller also calls it with empty ``data``, so that it can yield
        an incomplete line after ``QUIET_S``."""
        now = self._clock()
        if data:
            if not self._pending:
                self._since = now
            self._pending += data
            self._latest = now
        while (end := self._pending.find(b"\n")) >= 0 or len(self._pending) > MAX_LINE_BYTES:
            cut = end if 0 <= end <= MAX_LINE_BYTES else MAX_LINE_BYTES
            yield self._line(cut)
            self._pending = self._pending[cut + (cut == end) :]
            self._since = now
        if self._pending and now - self._latest >= QUIET_S:
            yield from self.incomplete_line()

    def incomplete_line(self) -> Iterator[LogLine]:
        """Yield the text that was received after the last line end, if there is any."""
        if self._pending:
            yield self._line(len(self._pending))
            self._pending = b""

    def _line(self, cut: int) -> LogLine:
        return LogLine(self._since, readable(self._pending[:cut].rstrip(b"\r")))


def watch(
    find: Callable[[], str], baud: int, *, reconnect: bool = False, stop: Callable[[], bool] = lambda: False
) -> Iterator[LogLine]:
    """Yield every line that arrives on the port that ``find`` returns, until ``stop`` returns true.

    Args:
        find: function that returns the port's path. It is called again when the port disappeared, because the port may
            return with another name.
        baud: the port's speed in baud.
        reconnect: when the port disappears, wait until it is back. A line with an event reports the loss, and another
            one the new connection.
        stop: function that is called a few times per second.

    Raises:
        PortGoneError: the cable was pulled, and ``reconnect`` is off.
        DeviceError: the port does not exist at the beginning.
    """
    yield from read_with_reconnect(
        find, baud, lambda line, _: _read(line, stop), reconnect=reconnect, stop=stop
    )


def read_with_reconnect(
    find: Callable[[], str],
    baud: int,
    read: Callable[[SerialTransport, bool], Iterator[LogLine]],
    *,
    reconnect: bool,
    stop: Callable[[], bool],
) -> Iterator[LogLine]:
    """Yield the lines that ``read`` yields from the port and, with ``reconnect``, from the port after each
    reconnection. The second argument of ``read`` is True for the first connection. Lines with an event report lost
    and recovered ports. Raises the errors of ``watch`` and of ``read``."""
    first = True
    while first or not stop():
        try:
            transport = SerialTransport(find(), baud)
        except DeviceError:
            if first or not reconnect:
                raise
            time.sleep(RETRY_S)
            continue
        yield LogLine(time.time(), f"{transport.port} at {baud} baud", "connected")
        try:
            yield from read(transport, first)
            return
        except PortGoneError as error:
            if not reconnect:
                raise
            yield LogLine(time.time(), error.problem, "lost")
        finally:
            transport.close()
        first = False


def _read(transport: SerialTransport, stop: Callable[[], bool]) -> Iterator[LogLine]:
    reader = LineReader()
    try:
        while not stop():
            yield from reader.feed(transport.read(QUIET_S / 2))
    except PortGoneError:
        yield from reader.incomplete_line()
        raise
    yield from reader.incomplete_line()
