"""Driver of a bench multimeter or source-measure unit that accepts SCPI commands (IEEE 488.2) over TCP (port 5025) or
serial.

``ScpiMeter`` lets the instrument sample by its own timer into its memory, and reads that memory while the instrument
records. The commands are those of the Keysight Truevolt family (34465A, 34470A). It reads only current, so the caller
must give the supply voltage. This driver has never run on an instrument; it is tested against a simulated instrument on
a TCP socket.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.connection import TextLines, open_connection
from arenite.host.energy.meters.trace import Floats, Trace, empty, join
from arenite.host.link.transport import Transport

PORT = 5025
#: A reading of this size or more is not a current but SCPI's code for overload (9.9E37) or "not a number" (9.91E37),
#: see SCPI-99, 7.2.1.
NO_READING = 9e36
#: More readings than the memory of any instrument holds.
_MAX_POINTS = 1e9
#: An answer to SYST:ERR?, such as +0,"No error".
_ERROR = re.compile(r"([+-]?\d+)(?:\s*,.*)?")
_IDENTITY = re.compile(r"[^,]*(,[^,]*){3,}")


class ScpiLine:
    """A connection to a SCPI instrument. Commands and queries are one text line each."""

    def __init__(self, where: str, baud: int = 115200) -> None:
        """Connect and send ``*IDN?``. Raises DeviceError if the instrument does not answer."""
        self.where = where
        self._transport: Transport = open_connection(where, baud, PORT)
        self._lines = TextLines(self._transport)
        try:
            self.identity = self.query("*IDN?")
            if not _IDENTITY.fullmatch(self.identity):
                raise self._unexpected("*IDN?", self.identity, "maker, model, serial number and version")
        except DeviceError:
            self._transport.close()
            raise

    def send(self, command: str) -> None:
        """Send a command that has no answer."""
        self._transport.write(command.encode() + b"\n")

    def query(self, question: str, timeout_s: float = 5.0) -> str:
        """Send a query and return its answer. Raises DeviceError if no answer arrives in time."""
        self.send(question)
        answer = self._lines.read(timeout_s)
        if answer is None:
            raise DeviceError(
                f"The instrument at {self.where} does not answer '{question}'.",
                "Check that its remote interface is on, and that this is its SCPI port (often tcp:HOST:5025).",
            )
        return answer

    def number(self, question: str, min_value: float, max_value: float) -> float:
        """Send a query for one number and return it. Raises DeviceError if the answer is anything else, or is not
        between ``min_value`` and ``max_value``."""
        values = self.readings(question, 1)
        if not min_value <= values[0] <= max_value:
            raise self._unexpected(
                question, f"{values[0]:g}", f"a number from {min_value:g} to {max_value:g}"
            )
        return float(values[0])

    def readings(self, question: str, count: int, timeout_s: float = 5.0) -> Floats:
        """Send a query for ``count`` readings and return them, shape (count,). Invalid readings have a size of at least
        ``NO_READING``. Raises DeviceError if the answer is anything else."""
        answer = self.query(question, timeout_s)
        values = values_of(answer)
        if values is None or len(values) != count:
            number = "one number" if count == 1 else f"{count} numbers"
            raise self._unexpected(question, answer, number)
        return values

    def _unexpected(self, question: str, answer: str, expected: str) -> DeviceError:
        shown = f"'{answer[:40]}…' ({len(answer)} characters)" if len(answer) > 40 else f"'{answer}'"
        return DeviceError(
            f"The instrument at {self.where} answers {shown} to '{question}'; expected {expected}.",
            "Check that no other program uses the instrument, and that it accepts SCPI commands. Then switch it off and"
            " on.",
        )

    def check(self, action: str) -> None:
        """Query the instrument's last error. Raises DeviceError with the instrument's message if there is an error.
        ``action`` is the text for the action that the instrument refused."""
        answer = self.query("SYST:ERR?")
        error = _ERROR.fullmatch(answer)
        if error is None:
            raise self._unexpected("SYST:ERR?", answer, 'an error such as +0,"No error"')
        if int(error[1]) != 0:
            model = ",".join(self.identity.split(",")[:2])
            raise DeviceError(
                f"The instrument {model} refused {action}: {answer}.",
                "Use --meter scpi-polled, which works with any instrument that supports READ?.",
            )

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()


def values_of(text: str) -> Floats | None:
    """Return the numbers in a text such as ``1.2E-3,3.4E-3``, shape (n,); None if the text is anything else. The text
    may be an IEEE 488.2 block that begins with its length, as in ``#212…``."""
    if text.startswith("#"):
        block = _block_of(text)
        if block is None:
            return None
        text = block
    try:
        values = np.array([float(part) for part in text.split(",")], dtype=np.float64)
    except ValueError:
        return None
    # SCPI has numbers for infinity and "not a number", so a text such as "nan" is no SCPI.
    return values if np.isfinite(values).all() else None


def _block_of(text: str) -> str | None:
    """Return the contents of an IEEE 488.2 block, or None if its length differs from the stated length. ``#0`` begins a
    block that ends with the line."""
    digits = int(text[1]) if text[1:2].isdigit() else -1
    length = text[2 : 2 + digits]
    if digits == 0:
        return text[2:]
    block = text[2 + digits :]
    return block if length.isdigit() and int(length) == len(block) else None


class ScpiMeter(Meter):
    """A SCPI instrument that samples by its own timer, at ``rate_hz``. ``range_a`` fixes the range; None lets the
    instrument choose it."""

    name = "scpi"

    def __init__(
        self,
        where: str,
        supply_v: float = 3.3,
        rate_hz: float = 10_000.0,
        range_a: float | None = None,
        gain_error: float | None = None,
    ) -> None:
        """Raises UsageError for an invalid rate."""
        if not rate_hz > 0:
            raise UsageError(
                f"A rate of {rate_hz:g} Hz is not valid.", "Give samples per second, such as 10000."
            )
        self._where, self._supply, self._rate, self._range = where, supply_v, rate_hz, range_a
        self._gain_error = gain_error
        self._scpi: ScpiLine | None = None
        self._thread: threading.Thread | None = None

    @property
    def scpi(self) -> ScpiLine:
        """Return the open connection. Raises UsageError before ``open``."""
        if self._scpi is None:
            raise UsageError("The SCPI instrument is not open.", "Call open() first.")
        return self._scpi

    def open(self) -> None:
        """Connect, and configure the instrument to sample the current by its timer without end. Raises DeviceError if
        the instrument has no sample timer."""
        self.open_on(ScpiLine(self._where))

    def open_on(self, connection: ScpiLine) -> None:
        """Set up the instrument as ``open`` does, on a connection that is already open."""
        self._scpi = connection
        for command in (
            "*RST",
            "*CLS",
            "CONF:CURR:DC",
            "CURR:DC:RANG:AUTO ON" if self._range is None else f"CURR:DC:RANG {self._range:g}",
            "CURR:DC:ZERO:AUTO OFF",
            "TRIG:SOUR IMM",
            "SAMP:SOUR TIM",
            f"SAMP:TIM {1 / self._rate:.9g}",
            "SAMP:COUN MAX",
        ):
            self.scpi.send(command)
        self.scpi.check("sampling by its own timer")
        # The timer may not support the exact rate, so read back the actual interval.
        self._rate = 1 / self.scpi.number("SAMP:TIM?", 1e-9, 3600)

    def start(self) -> None:
        """See :class:`Meter`."""
        if self._thread is not None:
            raise UsageError("The SCPI instrument is already recording.", "Call stop() first.")
        self._parts: list[Trace] = []
        self._yielded = self._count = 0
        self._error: DeviceError | None = None
        self._stopped = threading.Event()
        self.scpi.send("INIT")
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._pump, daemon=True, name="meter scpi")
        self._thread.start()

    def _pump(self) -> None:
        try:
            while not self._stopped.wait(0.02):
                self._fetch()
        except DeviceError as error:
            self._error = error

    def _fetch(self) -> bool:
        """Move the readings in the instrument's memory to the recording. Return whether there were any."""
        waiting = round(self.scpi.number("DATA:POIN?", 0, _MAX_POINTS))
        if waiting == 0:
            return False
        # A reading too few or too many would shift the times of all later ones.
        count = min(waiting, 10_000)
        values = self.scpi.readings(f"DATA:REM? {count}", count, 10.0)
        valid = np.abs(values) < NO_READING
        times = (self._count + np.flatnonzero(valid)) / self._rate
        self._count += len(values)
        self._parts.append(
            Trace(
                times,
                values[valid],
                self._supply,
                self._rate,
                lost_samples=int(np.count_nonzero(~valid)),
                started_s=self._started,
                gain_error=self._gain_error,
                meta={"meter": self.name, "instrument": self.scpi.identity},
            )
        )
        return True

    def samples(self, timeout_s: float = 1.0) -> Iterator[Trace]:
        """See :class:`Meter`."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if self._yielded < len(self._parts):
                self._yielded += 1
                yield self._parts[self._yielded - 1]
                end = time.monotonic() + timeout_s
            elif self._error is not None:
                raise self._error
            else:
                time.sleep(0.01)

    def stop(self) -> Trace:
        """See :class:`Meter`."""
        if self._thread is None:
            raise UsageError("The SCPI instrument is not recording.", "Call start() first.")
        self._stopped.set()
        self._thread.join()
        self._thread = None
        if self._error is not None:
            raise self._error
        # Samples up to this time belong to the recording. Later samples may arrive while these samples are read.
        due_count = round((time.monotonic() - self._started) * self._rate)
        while self._fetch() and self._count < due_count:
            pass
        self.scpi.send("ABOR")
        self.scpi.check("the recording")
        return join(self._parts) if self._parts else empty(self._rate, self._supply)

    def close(self) -> None:
        """See :class:`Meter`."""
        if self._scpi is None:
            return
        if self._thread is not None:
            with suppress(DeviceError):
                self.stop()
        self._scpi.close()
        self._scpi = None
