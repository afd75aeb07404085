"""Client of the MLPerf Tiny monitor, the firmware's text protocol. Commands end in ``%``, answers in ``m-ready``.

The monitor has no checksums and no sequence numbers, so damaged bytes can look like data. A lost answer raises an
error; after it, ``connect`` brings client and monitor back to the start of a command. A caller that needs a reliable
result requests it more than once, as ``host/bench/devices/monitor_answers.py`` does.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from arenite.errors import DeviceError
from arenite.host.link.transport import PortGoneError, Transport
from arenite.printable import printable

READY = b"m-ready\r\n"
_HEX_BYTES_PER_COMMAND = 64
#: Time limit in seconds for the answer to "name". On a noisy connection many short attempts succeed sooner than a few
#: long attempts.
_CONNECT_S = 0.5
_LAP = re.compile(r"m-lap-us-(\d{1,20})\b", re.ASCII)
#: The maximum length of an answer. The commands "raw" and "results" have the longest answers.
_MAX_ANSWER_BYTES = 1 << 24


@dataclass(frozen=True)
class MonitorInfo:
    """The answers to ``name`` and ``profile``."""

    device: str
    profile: str
    model: str


@dataclass(frozen=True)
class MonitorRun:
    """The result of one ``infer`` command: the device time of all its inferences together, and the first output of the
    last inference as real numbers."""

    inferences: int
    microseconds: int
    results: tuple[float, ...]


class MonitorClient:
    """Sends commands to one monitor over one transport. ``infer_timeout_s`` is the time limit of ``infer``,
    ``timeout_s`` of all other commands."""

    def __init__(
        self, transport: Transport, *, timeout_s: float = 5.0, infer_timeout_s: float = 120.0
    ) -> None:
        self._transport = transport
        self._timeout_s = timeout_s
        self._infer_timeout_s = infer_timeout_s
        self._pending = bytearray()

    def connect(self, timeout_s: float = 10.0) -> MonitorInfo:
        """Find the monitor and identify it. Raises DeviceError when no monitor answers within ``timeout_s``."""
        end = time.monotonic() + timeout_s
        while True:
            self._transport.discard_input()
            self._pending = bytearray()
            # The first '%' ends any incomplete command in the device. The answer to that command is dropped.
            self._transport.write(b"%name%")
            try:
                answer = self._read_until(lambda text: b"m-name" in text and text.endswith(READY), _CONNECT_S)
                about = self._request("profile", _CONNECT_S)
                name, profile, model = (
                    self._field(text, field)
                    for text, field in ((answer, "m-name-dut"), (about, "m-profile"), (about, "m-model"))
                )
                return MonitorInfo(name, profile, model)
            except PortGoneError:
                raise
            except DeviceError:
                if time.monotonic() > end:
                    raise DeviceError(
                        f"No MLPerf monitor answers on {self._transport.port}.",
                        "Check that the firmware was generated with --protocol mlperf, and that the port is right.",
                    ) from None

    def load(self, data: bytes) -> None:
        """Set ``data`` (all inputs, one after the other) as the input of the following inferences."""
        self._request(f"db load {len(data)}")
        answer = ""
        for at in range(0, len(data), _HEX_BYTES_PER_COMMAND):
            answer = self._request(f"db {data[at : at + _HEX_BYTES_PER_COMMAND].hex()}")
        if "m-load-done" not in answer:
            raise DeviceError(
                f"The device on {self._transport.port} did not receive a part of the input.",
                "Check the cable and the baud rate, and run again.",
            )

    def infer(self, times: int = 1, warm_up: int = 0) -> MonitorRun:
        """Run ``warm_up`` inferences, then ``times`` inferences that are timed."""
        answer = self._request(f"infer {times} {warm_up}", self._infer_timeout_s)
        laps = [int(match) for match in _LAP.findall(answer)]
        if len(laps) != 2 or "m-infer-done" not in answer:
            raise DeviceError(
                f"The device on {self._transport.port} sent an unexpected answer to an inference:"
                f" {answer.strip()[:80]!r}.",
                "Reset it and run again.",
            )
        return MonitorRun(times, laps[1] - laps[0], self._results(answer))

    def results(self) -> tuple[float, ...]:
        """Return the first output of the latest inference as the device prints it: real numbers with three decimals."""
        return self._results(self._request("results"))

    def raw_outputs(self) -> bytes:
        """Return all outputs of the latest inference, one after the other (a command of Arenite's own monitor)."""
        text = self._field(self._request("raw"), "m-raw")
        try:
            return bytes.fromhex(text)
        except ValueError as error:
            raise self._garbled(text) from error

    def timestamp_us(self) -> int:
        """Return the time of the device's clock in microseconds."""
        match = _LAP.search(self._request("timestamp"))
        if match is None:
            raise DeviceError(
                f"The device on {self._transport.port} sent no timestamp.", "Reset it and run again."
            )
        return int(match.group(1))

    def _results(self, answer: str) -> tuple[float, ...]:
        text = self._field(answer, "m-results")
        try:
            return tuple(float(item) for item in text.split(",") if item)
        except ValueError as error:
            raise self._garbled(text) from error

    def _garbled(self, text: str) -> DeviceError:
        return DeviceError(
            f"The device on {self._transport.port} sent results that are not numbers: {text[:40]!r}.",
            "Check cable, speed and ground.",
        )

    def _field(self, answer: str, name: str) -> str:
        """Return the text in brackets after ``name``."""
        match = re.search(re.escape(name) + r"-\[([^\]]*)\]", answer)
        if match is None:
            raise DeviceError(
                f"The device on {self._transport.port} did not send {name}: {answer.strip()[:80]!r}.",
                "Build and flash the firmware again with this version of Arenite.",
            )
        return printable(match.group(1))

    def _request(self, command: str, timeout_s: float | None = None) -> str:
        """Send ``command`` and return the answer up to m-ready. Raises DeviceError for an error answer
        (e-[…]) and if nothing arrives."""
        self._transport.write(command.encode("ascii") + b"%")
        answer = self._read_until(lambda text: text.endswith(READY), timeout_s or self._timeout_s)
        if error := re.search(r"^e-\[([^\]]*)\]", answer, re.MULTILINE):
            raise DeviceError(
                f"The device on {self._transport.port} refused '{command[:30]}': {printable(error.group(1))}.",
                "Run again. If it happens again, reset the device.",
            )
        return answer

    def _read_until(self, done: Callable[[bytes | bytearray], bool], timeout_s: float) -> str:
        """Read until ``done`` returns true for the received bytes, and return them as text. Raises DeviceError after
        ``timeout_s``."""
        end = time.monotonic() + timeout_s
        while not done(self._pending):
            remaining = end - time.monotonic()
            if remaining <= 0:
                raise DeviceError(
                    f"The device on {self._transport.port} did not answer within {timeout_s:g} s.",
                    "Reset it, or allow more time per inference.",
                )
            self._pending += self._transport.read(min(remaining, 0.5))
            if len(self._pending) > _MAX_ANSWER_BYTES:
                self._pending = bytearray()
                raise DeviceError(
                    f"The device on {self._transport.port} sends without end: {_MAX_ANSWER_BYTES:,} bytes without"
                    " m-ready.",
                    "Reset it, and check that it runs the MLPerf monitor.",
                )
        answer, self._pending = self._pending, bytearray()
        return answer.decode("ascii", "replace")
