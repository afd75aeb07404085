"""The client of the Arenite protocol on the host. It sends one request at a time and waits for its reply.

Every request is repeated until its reply arrives, so a lost or damaged frame only costs time.
A repeated INFER does not run twice, because the device remembers the sequence number of the request that it
ran.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from arenite.errors import DeviceError
from arenite.host.link import health
from arenite.host.link.device_replies import (
    MAX_CHUNK_BYTES,
    DeviceInfo,
    DeviceMemory,
    InferenceTicks,
    TensorInfo,
    parse_greeting,
    parse_memory,
    parse_tensor,
    parse_ticks,
    start_reason,
)
from arenite.host.link.frames import DamagedFrame, FrameDecoder, encode_frame
from arenite.host.link.health import LogEntry
from arenite.host.link.transport import Transport

PROTOCOL_VERSION = 1
HELLO, DESCRIBE, WRITE, READ, INFER, MEMORY, RESTART, HEALTH, LOG = range(1, 10)
DONE, BAD_FRAME, BAD_COMMAND, BAD_RANGE, NO_SESSION, OUT_OF_ORDER = range(6)
#: The kinds of data that DESCRIBE, WRITE and READ refer to.
OF_INPUTS, OF_OUTPUTS, OF_TICKS = range(3)
#: The minimum number of data bytes per frame on a noisy connection, and the number of consecutive requests answered
#: without a resend after which frames grow again.
_MIN_PART, _GROW_AFTER = 16, 32
_REBUILD_HINT = "Build and flash the firmware again with this version of Arenite."
#: A log with more entries than this is an error. The firmware's own log has 16.
_MAX_LOG_ENTRIES = 256
#: The number of last lines of a device's log that an error quotes.
_LOG_LINES = 4


_Reply = TypeVar("_Reply")


class HealthUnavailableError(DeviceError):
    """The firmware was generated without ``--health``."""


class InputLostError(DeviceError):
    """A device that takes its input row by row did not receive a part of the input."""


class RequestStoppedError(DeviceError):
    """The caller of the client asked it to stop."""


class DeviceRestartedError(DeviceError):
    """The device restarted and lost its session. ``by_fault``: True if a fault of its firmware was the reason."""

    by_fault = False


@dataclass(frozen=True)
class TimeLimits:
    """How long a client waits, in seconds: ``resend_s`` until it sends a request again, ``infer_s`` for an
    inference."""

    resend_s: float = 1.0
    infer_s: float = 60.0


#: The limits for real boards and emulators.
DEFAULT_LIMITS = TimeLimits()


@dataclass
class LinkStatistics:
    """Numbers of requests and of repaired transmission errors."""

    requests: int = 0
    resent: int = 0
    damaged: int = 0  # frames that arrived damaged here, or that the device reported as damaged
    stale: int = 0  # replies to earlier requests


class DeviceClient:
    """Sends requests to one device over one transport.

    ``resend_s``: seconds to wait for an answer before a request is sent again. ``attempts``: how often a
    request is sent. ``infer_timeout_s``: the time limit of an inference. During an inference its request is still
    repeated, in case it was lost. ``stop`` is called about once per ``resend_s``; when it returns true, the request
    raises :class:`RequestStoppedError`.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        resend_s: float = 1.0,
        attempts: int = 8,
        infer_timeout_s: float = 60.0,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._transport = transport
        self._resend_s = resend_s
        self._attempts = attempts
        self._infer_timeout_s = infer_timeout_s
        self._stop = stop
        self._explaining_restart = False  # True while the reason of a restart is read, to prevent a recursion
        self._decoder = FrameDecoder()
        self._sequence = 0
        self._chunk = MAX_CHUNK_BYTES
        self._part = MAX_CHUNK_BYTES  # bytes of data in a frame; adapts to transmission errors
        self._in_a_row = 0  # consecutive requests that were answered without a resend
        self.statistics = LinkStatistics()

    def hello(self, timeout_s: float = 10.0) -> DeviceInfo:
        """Open a session with the device and read its description.

        Raises:
            DeviceError: nothing answers, or the device uses another protocol or another version of it.
        """
        self._transport.discard_input()
        resend = min(self._resend_s, 0.1)  # the device may still be starting
        reply = self._exchange(HELLO, bytes([0, PROTOCOL_VERSION]), resend_s=resend, timeout_s=timeout_s)
        version = reply[0] if reply else None
        if version != PROTOCOL_VERSION:
            raise DeviceError(
                f"The device on {self._transport.port} uses version {version} of the protocol, but this program uses"
                f" version {PROTOCOL_VERSION}.",
                _REBUILD_HINT,
            )
        greeting = self._parse(parse_greeting, reply, "description of itself")
        self._chunk = greeting.chunk_bytes
        self._part = min(self._part, self._chunk)
        return DeviceInfo(
            model=greeting.model,
            model_hash=greeting.model_hash,
            board=greeting.board,
            inputs=tuple(self._describe(OF_INPUTS, i) for i in range(greeting.input_count)),
            outputs=tuple(self._describe(OF_OUTPUTS, i) for i in range(greeting.output_count)),
            layer_count=greeting.layer_count,
            arena_bytes=greeting.arena_bytes,
            chunk_bytes=self._chunk,
            tick_hz=greeting.tick_hz,
        )

    def connect(self, model_hash: bytes, *, timeout_s: float = 10.0) -> DeviceInfo:
        """Open a session and check that the device runs the model whose SHA-256 begins with ``model_hash``.

        Raises:
            DeviceError: as :meth:`hello`, or the device runs other firmware.
        """
        info = self.hello(timeout_s)
        if info.model_hash != model_hash[:8]:
            raise DeviceError(
                f"The device on {self._transport.port} runs other firmware: model '{info.model}'"
                f" ({info.model_hash.hex()}), not {model_hash[:8].hex()}.",
                "Flash the firmware that was built from this model.",
            )
        return info

    def write_input(self, index: int, data: bytes) -> None:
        """Write ``data`` into input ``index``, from its first byte on.

        A device that takes the input row by row computes while the rows arrive. If a part was lost, the complete
        input is sent again and the inference starts over.
        """
        for _ in range(self._attempts - 1):
            try:
                return self._write_all(index, data)
            except InputLostError:
                continue
        return self._write_all(index, data)

    def _write_all(self, index: int, data: bytes) -> None:
        offset = 0
        while offset < len(data):
            part = data[offset : offset + self._part]
            self._exchange(WRITE, bytes([OF_INPUTS, index]) + struct.pack("<I", offset) + part)
            offset += len(part)

    def infer(self, *, fresh: bool = True) -> InferenceTicks:
        """Run one inference and return its duration in ticks. ``fresh``: first reset the state that the model keeps
        between inferences."""
        reply = self._exchange(INFER, bytes([int(fresh), 0]), timeout_s=self._infer_timeout_s)
        return self._parse(parse_ticks, reply, "report of an inference")

    def read_output(self, index: int, nbytes: int) -> bytes:
        """Return the first ``nbytes`` bytes of output ``index``."""
        return self._read(OF_OUTPUTS, index, nbytes)

    def layer_ticks(self, layer_count: int) -> tuple[int, ...]:
        """Return the ticks of each layer in the latest inference."""
        return struct.unpack(f"<{layer_count}I", self._read(OF_TICKS, 0, 4 * layer_count))

    def memory(self) -> DeviceMemory:
        """Return the stack's high-water mark, the guard words, and the reason of the device's last start."""
        return self._parse(parse_memory, self._exchange(MEMORY, bytes(2)), "report of its memory")

    def health(self) -> health.Health:
        """Return the device's health: the reason of its start, its uptime, guard words, stack, watchdog.

        Raises:
            HealthUnavailableError: the firmware was generated without ``--health``.
        """
        return self._parse(health.parse_health, self._exchange(HEALTH, bytes(2)), "health report")

    def log(self, *, clear: bool = False) -> list[LogEntry]:
        """Return the device's log, oldest entry first: all entries since power was lost or the log was cleared.

        With ``clear`` the device then deletes the entries that were read. Entries that it wrote meanwhile stay.

        Raises:
            HealthUnavailableError: the firmware was generated without ``--health``.
            DeviceError: the log is malformed, or does not end after 256 entries.
        """
        architecture = self.health().architecture
        entries: list[LogEntry] = []
        while True:
            following = entries[-1].number + 1 if entries else 0
            max_entries = max(1, self._part // health.ENTRY_BYTES)
            data = self._exchange(LOG, bytes(2) + struct.pack("<II", following, max_entries))
            received = self._parse(lambda data: health.parse_log(data, architecture), data, "log")
            new_entries = [entry for entry in received if entry.number >= following]
            if not new_entries:
                break
            entries += new_entries
            if len(entries) > _MAX_LOG_ENTRIES or entries[-1].number == 0xFFFFFFFF:
                raise DeviceError(
                    f"The log of the device on {self._transport.port} does not end: {len(entries)} entries, up to"
                    f" number {entries[-1].number}.",
                    "Reset the device. If that does not help, build and flash its firmware again.",
                )
        if clear and entries:
            self._exchange(LOG, bytes([1, 0]) + struct.pack("<II", entries[-1].number, 0))
        return entries

    def restart(self) -> None:
        """Restart the device; open a new session afterwards.

        Raises:
            DeviceRestartedError: the device restarted because of a fault.
        """
        try:
            self._exchange(RESTART, bytes(2))
        except DeviceRestartedError as error:
            # The reply was lost and the request was sent again: the device has restarted, so it has no session.
            if error.by_fault:
                raise

    def _describe(self, kind: int, index: int) -> TensorInfo:
        return self._parse(parse_tensor, self._exchange(DESCRIBE, bytes([kind, index])), "tensor")

    def _parse(self, parse: Callable[[bytes], _Reply], data: bytes, about: str) -> _Reply:
        try:
            return parse(data)
        except ValueError as error:
            raise DeviceError(
                f"The device on {self._transport.port} sent a malformed {about}: {error}.", _REBUILD_HINT
            ) from error

    def _read(self, kind: int, index: int, nbytes: int) -> bytes:
        data = b""
        while len(data) < nbytes:
            length = min(self._part, nbytes - len(data))
            part = self._exchange(READ, bytes([kind, index]) + struct.pack("<II", len(data), length))
            if len(part) != length:
                raise DeviceError(
                    f"The device sent {len(part)} bytes, but {length} were requested.", "Flash it again."
                )
            data += part
        return data

    def _exchange(
        self, command: int, arguments: bytes, *, resend_s: float | None = None, timeout_s: float | None = None
    ) -> bytes:
        """Send one request until its reply arrives, and return the reply's data.

        With ``timeout_s`` the request is repeated during that time, otherwise ``attempts`` times.
        """
        self._sequence = (self._sequence + 1) & 0xFF
        self.statistics.requests += 1
        request = encode_frame(bytes([self._sequence, command]) + arguments)
        wait = self._resend_s if resend_s is None else resend_s
        end = time.monotonic() + (wait * self._attempts if timeout_s is None else timeout_s)
        damaged_before, sent = self.statistics.damaged, 0
        # A damaged frame causes a resend at once. So on a noisy connection, the number of resends must be limited too.
        max_sends = max(self._attempts * 8, 64)
        while time.monotonic() < end and sent < max_sends:
            if self._stop():
                raise RequestStoppedError(f"Request {self._sequence} was stopped.")
            self._transport.write(request)
            self.statistics.resent += sent > 0
            sent += 1
            reply = self._await_reply(command, min(time.monotonic() + wait, end))
            if reply is not None:
                self._adapt(sent)
                return self._data_of(reply, command)
        self._adapt(sent)
        raise self._no_answer(command, self.statistics.damaged - damaged_before, sent)

    def _adapt(self, sent: int) -> None:
        """Use smaller frames if the connection is noisy: if every hundredth byte is damaged, hardly any frame of
        253 bytes arrives intact."""
        self._in_a_row = self._in_a_row + 1 if sent == 1 else 0
        if sent > 1:
            self._part = max(self._part // 2, min(_MIN_PART, self._chunk))
        elif self._in_a_row >= _GROW_AFTER:
            self._part, self._in_a_row = min(self._part * 2, self._chunk), 0

    def _await_reply(self, command: int, until: float) -> bytes | None:
        """Return the reply to the latest request, or None if it is time to send the request again."""
        resend = False
        while (remaining := until - time.monotonic()) > 0 and not resend:
            # Read all frames that arrived together first: error replies to earlier frames may precede the reply.
            for frame in self._decoder.feed(self._transport.read(remaining)):
                if isinstance(frame, DamagedFrame) or frame[1] == BAD_FRAME:
                    # A request or a reply was lost. Send it again at once, unless the device is busy with an inference.
                    self.statistics.damaged += 1
                    resend = resend or command != INFER or not isinstance(frame, DamagedFrame)
                elif frame[0] == self._sequence and frame[2] == command:
                    return frame
                else:
                    self.statistics.stale += 1
        return None

    def _data_of(self, reply: bytes, command: int) -> bytes:
        """Return the data of a reply. Raises the error for a reply whose status is not DONE."""
        status = reply[1]
        if status == DONE:
            return reply[4:]
        if status == NO_SESSION and command != HELLO and not self._explaining_restart:
            raise self._restarted()
        if status == BAD_RANGE:
            raise DeviceError(
                f"The device on {self._transport.port} does not have this tensor, or the tensor is smaller.",
                "Its firmware was built from another model. Flash it again.",
            )
        if status == OUT_OF_ORDER:
            raise InputLostError(
                f"The device on {self._transport.port} did not receive the complete input.",
                "Send it again from its first row.",
            )
        if status == BAD_COMMAND and command in (HEALTH, LOG):
            raise HealthUnavailableError(
                f"The firmware on {self._transport.port} does not report its health.",
                "Generate it with --health.",
            )
        raise DeviceError(
            f"The device on {self._transport.port} refused command {command} with code {status}.",
            _REBUILD_HINT,
        )

    def _restarted(self) -> DeviceRestartedError:
        """Return the error for a device that lost its session, with the reason of its restart."""
        self._explaining_restart = True
        try:
            return self._explain_restart()
        finally:
            self._explaining_restart = False

    def _explain_restart(self) -> DeviceRestartedError:
        try:
            self._exchange(HELLO, bytes([0, PROTOCOL_VERSION]))
            reason = self.memory().started_by
        except DeviceError:
            reason = "an unknown reason"
        by_fault = reason in (start_reason(health.FAULT), start_reason(health.WATCHDOG))
        hint = (
            "Check its supply and cable. If the fault happens again it is a bug: please report it"
            " with the model."
        )
        try:
            reason = self.health().started_by
            lines = "; ".join(str(entry) for entry in self.log()[-_LOG_LINES:])
            hint += f" Its log ends with: {lines}." if lines else ""
        except DeviceError:
            pass  # the firmware has no health reports, or the connection is gone
        error = DeviceRestartedError(
            f"The device on {self._transport.port} restarted during the run because of {reason}.", hint
        )
        error.by_fault = by_fault
        return error

    def _no_answer(self, command: int, damaged: int, sent: int) -> DeviceError:
        """Return the error for a request without an answer after ``sent`` attempts."""
        port = self._transport.port
        if damaged:
            return DeviceError(
                f"The connection on {port} is too noisy: {damaged} frames arrived damaged in {sent}"
                " attempts.",
                "Check the cable, the baud rate and the ground connection, and that the device runs Arenite firmware.",
            )
        if command == HELLO:
            return DeviceError(
                f"No device answers on {port}.",
                "Check that the firmware is flashed, and that port and baud rate are right.",
            )
        return DeviceError(
            f"The device on {port} does not respond: request {self._sequence} had no answer after"
            f" {sent} attempts.",
            "Reset it, or allow more time per inference.",
        )
