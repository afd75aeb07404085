"""Poll a SCPI instrument for each reading, and choose between polling and the instrument's own sample timer.

Most instruments that measure current support ``READ?``, with about ten readings per second; simple instruments only
support ``MEASure``. Times are from the host's clock. This driver has never run on an instrument; it is tested against a
simulated instrument on a TCP socket.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.polled import PolledMeter
from arenite.host.energy.meters.scpi import NO_READING, ScpiLine, ScpiMeter
from arenite.host.energy.meters.trace import Trace

#: Queries that return a current. They are tried in this order when the instrument is opened.
QUESTIONS = ("READ?", "MEAS:CURR:DC?", "MEAS:CURR?")
POLL_HZ = 2000.0


class ScpiPolled(PolledMeter):
    """A SCPI instrument with one query per sample. This is slow: use it for averages and sleep currents, or for an
    instrument without a sample timer."""

    name = "scpi-polled"

    def __init__(
        self, where: str, supply_v: float = 3.3, rate_hz: float = POLL_HZ, gain_error: float | None = None
    ) -> None:
        super().__init__(rate_hz, gain_error)
        self._where, self._supply = where, supply_v
        self._scpi: ScpiLine | None = None
        self._question = QUESTIONS[0]

    def open(self) -> None:
        """Connect, choose direct current, and find the query that works."""
        self.open_on(ScpiLine(self._where))

    def open_on(self, connection: ScpiLine) -> None:
        """Set up the instrument as ``open`` does, on a connection that is already open. Raises DeviceError if the
        instrument answers no query for a current."""
        self._scpi = connection
        connection.send("CONF:CURR:DC")
        for question in QUESTIONS:
            with suppress(DeviceError):
                connection.readings(question, 1, 2.0)
                self._question = question
                return
        raise DeviceError(
            f"The instrument at {connection.where} does not return a current.",
            f"Use an instrument that answers one of {', '.join(QUESTIONS)}.",
        )

    def read_sample(self) -> tuple[float, float]:
        """Return one reading in amperes and volts. Raises DeviceError on overload."""
        if self._scpi is None:
            raise DeviceError("The SCPI instrument is not open.", "Call open() first.")
        value = self._scpi.readings(self._question, 1, 10.0)
        if abs(value[0]) >= NO_READING:
            raise DeviceError(
                "The current is beyond the instrument's range.", "Choose a larger range, or auto range."
            )
        return float(value[0]), self._supply

    def close(self) -> None:
        """See :class:`Meter`."""
        super().close()
        if self._scpi is not None:
            self._scpi.close()
            self._scpi = None


class Scpi(Meter):
    """A SCPI instrument that samples by its own timer if it has a timer. Otherwise each reading is one query, and the
    recording has a note about it."""

    name = "scpi"

    def __init__(
        self,
        where: str,
        supply_v: float = 3.3,
        rate_hz: float | None = None,
        range_a: float | None = None,
        gain_error: float | None = None,
    ) -> None:
        rate_option = {} if rate_hz is None else {"rate_hz": rate_hz}
        self._where = where
        self._timed = ScpiMeter(where, supply_v, range_a=range_a, gain_error=gain_error, **rate_option)
        self._polled = ScpiPolled(where, supply_v, gain_error=gain_error, **rate_option)
        self._chosen: Meter | None = None
        self._fallback_reason = ""

    @property
    def chosen(self) -> Meter:
        """Return the driver in use. Raises UsageError before ``open``."""
        if self._chosen is None:
            raise UsageError("The SCPI instrument is not open.", "Call open() first.")
        return self._chosen

    def open(self) -> None:
        """Connect, and find out whether the instrument has a sample timer. Raises DeviceError if nothing answers or if
        the instrument does not measure a current."""
        connection = ScpiLine(self._where)
        try:
            self._timed.open_on(connection)
            self._chosen = self._timed
        except DeviceError as error:
            self._fallback_reason = error.problem
            connection.send("*CLS")
            try:
                self._polled.open_on(connection)
            except DeviceError:
                connection.close()
                raise
            self._chosen = self._polled

    def start(self) -> None:
        """See :class:`Meter`."""
        self.chosen.start()

    def samples(self, timeout_s: float = 1.0) -> Iterator[Trace]:
        """See :class:`Meter`."""
        return self.chosen.samples(timeout_s)

    def stop(self) -> Trace:
        """See :class:`Meter`."""
        trace = self.chosen.stop()
        if self.chosen is self._timed:
            return trace
        note = f"the instrument has no sample timer, so each reading was polled ({self._fallback_reason})"
        return replace(trace, notes=(*trace.notes, note))

    def close(self) -> None:
        """See :class:`Meter`."""
        if self._chosen is not None:
            self._chosen.close()
