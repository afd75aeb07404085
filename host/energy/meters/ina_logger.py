"""Driver of an INA logger: a microcontroller that reads an INA chip and sends one line per sample over serial.

    start⏎ stop⏎ info⏎                                   to the logger
    # arenite-ina 1 chip=ina226 rate=1000                its answer to info
    S,<number>,<µs>,<nA>,<µV>,<marks>*<CRC>              one sample

``number`` counts samples modulo 2³² and shows losses. ``µs`` is the logger's timer modulo 2³². ``nA`` and ``µV`` are
decimal. ``marks`` is the level of the digital inputs, bit by bit, as a number up to 255. CRC is two hexadecimal digits
of CRC-8 (polynomial 0x07, start 0) over the text before ``*``. The driver is tested against a simulated logger on a
pseudo-terminal.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace

import numpy as np

from arenite.errors import DeviceError
from arenite.host.energy.meters.base import Decoder, StreamMeter
from arenite.host.energy.meters.connection import TextLines, open_connection
from arenite.host.energy.meters.ina_chip import CHIPS
from arenite.host.energy.meters.trace import Trace, empty

_LINE = re.compile(rb"^(S,(\d+),(\d+),(-?\d+),(\d+),(\d+))\*([0-9A-Fa-f]{2})$")
_INFO = re.compile(r"#\s*arenite-ina\s+1\b(.*)")


def crc8(data: bytes) -> int:
    """Return the CRC-8 of ``data`` with polynomial x⁸+x²+x+1 and start value 0, as in SMBus."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value << 1 ^ 0x07) & 0xFF if value & 0x80 else value << 1
    return value


class LoggerDecoder:
    """Decodes the logger's lines to samples. A line with a wrong checksum counts as a lost sample."""

    def __init__(self, rate_hz: float) -> None:
        self._rate = rate_hz
        self._rest = b""
        self._number: int | None = None
        self._micros = 0
        self._seconds = 0.0

    def feed(self, data: bytes) -> Trace:
        """See :class:`Decoder`."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        rows = []
        lost = 0
        for line in lines:
            match = _LINE.match(line.strip())
            if match is None or crc8(match[1]) != int(match[7], 16):
                continue
            number, micros, nanoamperes, microvolts, marks = (int(match[k]) for k in range(2, 7))
            if self._number is None:
                self._number, self._micros = number - 1, micros
            step = (number - self._number) % (1 << 32)
            # Skip a repeated old sample.
            if step == 0 or step > 1 << 31:
                continue
            lost += step - 1
            self._seconds += ((micros - self._micros) % (1 << 32)) / 1e6
            self._number, self._micros = number, micros
            rows.append((self._seconds, nanoamperes * 1e-9, microvolts * 1e-6, marks & 0xFF))
        if not rows:
            return empty(self._rate, 0.0)
        times, current, volts, bits = np.array(rows, dtype=np.float64).T
        return Trace(times, current, volts, self._rate, marks=bits.astype(np.uint8), lost_samples=lost)

    def finish(self) -> Trace:
        """See :class:`Decoder`."""
        return empty(self._rate, 0.0)


class InaLogger(StreamMeter):
    """An INA logger on a serial port. The board has its own supply, whose current flows through the logger's shunt."""

    name = "ina-logger"

    def __init__(self, port: str, baud: int = 921_600) -> None:
        super().__init__()
        self._port, self._baud = port, baud
        self._rate, self._chip = 1000.0, ""

    def open(self) -> None:
        """Connect, and read the logger's chip and rate."""
        self._transport = open_connection(self._port, self._baud)
        self.transport.write(b"\nstop\ninfo\n")
        lines = TextLines(self.transport)
        end = time.monotonic() + 3.0
        while (remaining := end - time.monotonic()) > 0:
            match = _INFO.match(lines.read(remaining) or "")
            if match:
                fields = dict(re.findall(r"(\w+)=(\S+)", match[1]))
                self._chip = fields.get("chip", "")
                self._rate = float(fields.get("rate", "1000"))
                if "error" in fields:
                    raise DeviceError(
                        f"The INA logger on {self._port} does not reach its {self._chip.upper() or 'chip'}.",
                        "Check its wires, its supply and its address.",
                    )
                return
        raise DeviceError(
            f"No INA logger answers on {self._port}.",
            "Check that its firmware is flashed, and that this is the logger's port.",
        )

    def _begin(self) -> tuple[Decoder, bytes]:
        self.transport.discard_input()
        self.transport.write(b"start\n")
        return LoggerDecoder(self._rate), b""

    def _end(self) -> None:
        self.transport.write(b"stop\n")

    def stop(self) -> Trace:
        """See :class:`Meter`."""
        chip = CHIPS.get(self._chip)
        meta = {"meter": self.name, "chip": self._chip}
        return replace(super().stop(), meta=meta, gain_error=chip.gain_error if chip else None)
