"""Driver of Nordic's Power Profiler Kit II (PPK2): USB serial, one byte per command, 100,000 samples per second.

The PPK2 answers only the request for its calibration, and sends samples between the start and the stop command. This
driver has never run on a PPK2; it is tested against a simulated PPK2 that uses this protocol on a pseudo-terminal.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.base import Decoder, StreamMeter
from arenite.host.energy.meters.connection import drain, open_connection
from arenite.host.energy.meters.ppk2_samples import RATE_HZ, Calibration, Ppk2Decoder
from arenite.host.energy.meters.trace import Trace

AVERAGE_START, AVERAGE_STOP = 0x06, 0x07
DEVICE_RUNNING_SET, REGULATOR_SET, SET_POWER_MODE, GET_META_DATA = 0x0C, 0x0D, 0x11, 0x19
AMPERE_MODE, SOURCE_MODE = 1, 2
MIN_V, MAX_V = 0.8, 5.0
#: A typical relative error, from memory of the manufacturer's data sheet and not checked; it is not the calibration of
#: a unit.
GAIN_ERROR = 0.10
#: The counter in the samples detects losses modulo 64. The host's clock shows the other losses if they are more than
#: this share of all samples.
MIN_UNCOUNTED_SHARE = 0.02


class Ppk2(StreamMeter):
    """A PPK2. With ``source`` it supplies the board with ``supply_v``; otherwise it measures the current of another
    supply with that voltage. With ``leave_on`` the board stays powered when the meter is closed."""

    name = "ppk2"

    def __init__(self, port: str, supply_v: float = 3.3, source: bool = True, leave_on: bool = False) -> None:
        """Raises UsageError for a voltage outside the PPK2's range."""
        super().__init__()
        if not MIN_V <= supply_v <= MAX_V:
            raise UsageError(
                f"A PPK2 cannot work at {supply_v:g} V.", f"Choose a voltage from {MIN_V:g} to {MAX_V:g} V."
            )
        self._port, self._supply, self._source, self._leave_on = port, supply_v, source, leave_on
        self.calibration = Calibration()

    def open(self) -> None:
        """Connect, read the calibration, set mode and voltage, and switch the board on."""
        self._transport = open_connection(self._port)
        # Samples of a recording that a killed program left running would mix with the calibration.
        self._command(AVERAGE_STOP)
        drain(self.transport)
        self.calibration = Calibration.parse(self._metadata())
        self._command(SET_POWER_MODE, SOURCE_MODE if self._source else AMPERE_MODE)
        self._command(REGULATOR_SET, *round(self._supply * 1000).to_bytes(2, "big"))
        self._command(DEVICE_RUNNING_SET, 1)

    def _command(self, *values: int) -> None:
        self.transport.write(bytes(values))

    def _metadata(self) -> str:
        """Request the calibration and return it as text. Raises DeviceError after three attempts."""
        text = b""
        for _ in range(3):
            self._command(GET_META_DATA)
            end = time.monotonic() + 1.0
            while time.monotonic() < end:
                text += self.transport.read(0.1)
                if b"END" in text:
                    return text.decode("ascii", "replace").partition("END")[0]
        reaction = "sent nothing" if not text else f"sent {text[:40]!r}"
        raise DeviceError(
            f"No PPK2 answers on {self._port}: it {reaction} after the request for its calibration.",
            "Check that this is its data port (a PPK2 can have two ports), and that Nordic's firmware is on it. Unplug"
            " it and plug it in again.",
        )

    def _begin(self) -> tuple[Decoder, bytes]:
        """Start the samples. Return their decoder, and no bytes, because no samples have been read yet."""
        self.transport.discard_input()
        self._command(AVERAGE_START)
        return Ppk2Decoder(self.calibration, self._supply), b""

    def _end(self) -> None:
        self._stopped = time.monotonic()
        self._command(AVERAGE_STOP)

    def stop(self) -> Trace:
        """See :class:`Meter`."""
        trace = super().stop()
        notes = list(trace.notes)
        if self.calibration.missing:
            notes.append(
                f"no calibration of {', '.join(self.calibration.missing[:4])}: nominal values are used"
            )
        counted = len(trace) + trace.lost_samples
        elapsed_s = self._stopped - self._started
        uncounted = elapsed_s * RATE_HZ - counted
        # USB may hold back up to 50 ms of samples at both ends.
        if uncounted > max(MIN_UNCOUNTED_SHARE * elapsed_s, 0.05) * RATE_HZ:
            notes.append(
                f"by the host's clock about {uncounted:.0f} more samples are missing than by the counter,"
                " which cannot detect losses of 64 in a row"
            )
        meta: dict[str, Any] = {
            "meter": self.name,
            "mode": "source" if self._source else "ampere",
            "device": dict(self.calibration.other),
            "gain_error": "typical data sheet value, not checked",
        }
        return replace(trace, notes=tuple(notes), meta=meta, gain_error=GAIN_ERROR)

    def close(self) -> None:
        """See :class:`Meter`. Also switch the board off, unless ``leave_on`` is set or the board has its own supply."""
        if self._transport is not None and self._source and not self._leave_on:
            with suppress(DeviceError):
                self._command(DEVICE_RUNNING_SET, 0)
        super().close()
