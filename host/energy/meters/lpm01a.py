"""Driver of ST's X-NUCLEO-LPM01A, which accepts text commands over USB serial and supplies the board with 1.8 to 3.3 V.

The meter sends up to 10,000 samples per second with ``format ascii_dec``, up to 100,000 with ``format bin_hexa``. It
has no digital inputs. This driver has never run on an LPM01A; it is tested against a simulated LPM01A that uses this
protocol on a pseudo-terminal.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.meters.base import Decoder, StreamMeter
from arenite.host.energy.meters.connection import TextLines, drain, open_connection
from arenite.host.energy.meters.lpm01a_samples import AsciiDecoder, BinaryDecoder
from arenite.host.energy.meters.trace import Trace

BAUD = 3_686_400
PROMPT = "PowerShield >"
MIN_V, MAX_V = 1.8, 3.3
#: Commands that restore settings which another program may have changed: with a trigger by a pin, a recording would
#: never start. Some firmware versions lack one of these commands. After ``pwr on`` the board has power even while the
#: meter does not record.
SETTINGS = ("trigsrc sw", "trigdelay 0", "pwr on")
#: The samples per second that the meter's command ``freq`` accepts.
RATES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
#: The highest rate of the text format, in samples per second.
MAX_ASCII_HZ = 10_000
#: The relative error of a reading: 2 % in the meter's dynamic range, from memory of the manufacturer's data sheet and
#: not checked.
GAIN_ERROR = 0.02
#: The range of losses that the host's clock can detect, as shares of the samples. Smaller losses are hidden by the
#: delays of USB; a larger share means that the meter sends in bursts.
HOST_LOSS = (0.005, 0.05)


class _RefusedError(DeviceError):
    """The meter answered with an error."""


class Lpm01a(StreamMeter):
    """An LPM01A. ``rate_hz``: samples per second; None means 10,000, or the next lower rate that the meter accepts.
    Rates above 10,000 use the binary format."""

    name = "lpm01a"

    def __init__(
        self, port: str, supply_v: float = 3.3, rate_hz: int | None = None, binary: bool | None = None
    ) -> None:
        """Raises UsageError for a voltage or a rate that the meter does not have."""
        super().__init__()
        if not MIN_V <= supply_v <= MAX_V:
            raise UsageError(f"An LPM01A cannot give {supply_v:g} V.", f"It gives {MIN_V:g} to {MAX_V:g} V.")
        self._can_lower_rate, rate_hz = rate_hz is None, rate_hz or MAX_ASCII_HZ
        if rate_hz not in RATES:
            near = min(RATES, key=lambda rate: abs(rate - rate_hz))
            raise UsageError(f"An LPM01A does not sample at {rate_hz} Hz.", f"The nearest rate is {near}.")
        self._binary = rate_hz > MAX_ASCII_HZ if binary is None else binary
        if not self._binary and rate_hz > MAX_ASCII_HZ:
            raise UsageError(
                f"{rate_hz} samples per second are too many for the text format.", "Use the binary format."
            )
        self._port, self._supply, self._rate = port, supply_v, rate_hz

    def open(self) -> None:
        """Connect, take control, and set the voltage, the rate and the format."""
        self._transport = open_connection(self._port, BAUD)
        self._lines = TextLines(self.transport)
        # End a recording that still runs. The line end completes a command of which only a part is in the meter's
        # buffer.
        self.transport.write(b"\nstop\n")
        drain(self.transport)
        self._command("htc")  # the host takes control
        self._command(f"volt {round(self._supply * 1000)}m")
        self._set_rate()
        self._command("acqtime inf")
        self._command("output current")
        self._command("format bin_hexa" if self._binary else "format ascii_dec")
        for setting in SETTINGS:
            with suppress(DeviceError):
                self._command(setting, 0.3)

    def _set_rate(self) -> None:
        """Set the requested rate, or the highest that the meter accepts if none was requested. Raises DeviceError."""
        rates = (
            [rate for rate in reversed(RATES) if rate <= self._rate] if self._can_lower_rate else [self._rate]
        )
        refused: _RefusedError | None = None
        for rate in rates:
            try:
                self._command(f"freq {rate // 1000}k" if rate % 1000 == 0 else f"freq {rate}")
            except _RefusedError as error:
                refused = refused or error
            else:
                self._rate = rate
                return
        assert refused is not None
        raise refused

    def _command(self, text: str, timeout_s: float = 2.0) -> None:
        """Send a command. Raises DeviceError unless the meter acknowledges it."""
        self.transport.write(text.encode() + b"\n")
        end = time.monotonic() + timeout_s
        while (remaining := end - time.monotonic()) > 0:
            answer = self._lines.read(remaining)
            if answer is None:
                break
            answer = answer.replace(PROMPT, "").strip()
            # An acknowledgement that names another command is a late answer to an earlier command.
            if answer == "ack" or (answer.startswith("ack") and text.split()[0] in answer):
                return
            if answer.startswith("err"):
                raise _RefusedError(
                    f"The LPM01A on {self._port} refused '{text}': {answer}.",
                    "Press its reset button, and check that its firmware supports this command.",
                )
        raise DeviceError(
            f"No LPM01A answers '{text}' on {self._port}.",
            "Check that this is the USB port of the PowerShield (not the board's), and that no other program uses it.",
        )

    def _begin(self) -> tuple[Decoder, bytes]:
        self._command("start")
        decoder = BinaryDecoder if self._binary else AsciiDecoder
        return decoder(self._rate, self._supply), self._lines.take_rest()

    def _end(self) -> None:
        self.transport.write(b"stop\n")

    def stop(self) -> Trace:
        """See :class:`Meter`."""
        trace = self._with_host_losses(super().stop())
        meta = {
            "meter": self.name,
            "format": "bin_hexa" if self._binary else "ascii_dec",
            "gain_error": "data sheet value, not checked",
        }
        notes, decoder = trace.notes, self._decoder
        if trace.lost_samples and isinstance(decoder, (AsciiDecoder, BinaryDecoder)) and decoder.timed.marks:
            share = trace.lost_samples / (len(trace) + trace.lost_samples)
            notes += (
                f"{share:.1%} of the samples were lost; the meter reports between which time marks, but"
                " not where",
            )
        return replace(trace, meta=meta, gain_error=GAIN_ERROR, notes=notes)

    def _with_host_losses(self, trace: Trace) -> Trace:
        """Return ``trace`` with the losses that the host's clock shows. This is done only if the meter sent no time
        mark and the samples arrived as they were taken."""
        decoder, speed = self._decoder, self.bytes_per_s
        assert isinstance(decoder, (AsciiDecoder, BinaryDecoder))
        if decoder.timed.marks or speed is None or not self._received:
            return trace
        share = 1 - speed * len(trace) / self._received / self._rate
        if not HOST_LOSS[0] < share < HOST_LOSS[1]:
            return trace
        count = len(trace)
        note = f"the meter sent no time marks: by the computer's clock {share:.1%} of the samples are missing"
        return replace(
            trace,
            time_s=trace.time_s / (1 - share),
            lost_samples=round(count / (1 - share)) - count,
            notes=(*trace.notes, note),
        )

    def close(self) -> None:
        """End a recording that runs, switch the board off, and enable the meter's own buttons (command ``hrc``)."""
        if self._transport is not None:
            if self._thread is not None:
                with suppress(DeviceError):
                    self.stop()
            for command in ("pwr off", "hrc"):
                with suppress(DeviceError):
                    self._command(command, 0.5)
        super().close()
