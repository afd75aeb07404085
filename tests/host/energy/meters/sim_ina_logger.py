"""A simulated INA226 logger on a pseudo-terminal: numbered lines with checksums; some are lost or damaged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.host.energy.meters.sim_pty import PtyInstrument
from tests.host.energy.meters.waveform import Waveform


class SimInaLogger(PtyInstrument):
    """A simulated logger that measures ``waveform`` with ``rate`` samples per second. Its clock is ``ppm`` too fast.
    ``bad`` counts the lines that were lost or damaged."""

    def __init__(self, waveform: Waveform, seed: int = 0, ppm: float = 100.0, rate: int = 1000) -> None:
        super().__init__()
        self.waveform, self.ppm, self.rate = waveform, ppm, rate
        self.rng = np.random.default_rng(seed + 5000)
        self.bad = 0
        self._buffer = b""

    def received(self, data: bytes) -> None:
        self._buffer += data
        while b"\n" in self._buffer:
            line, _, self._buffer = self._buffer.partition(b"\n")
            if line == b"info":
                self.send(f"# arenite-ina 1 chip=ina226 rate={self.rate}\r\n".encode())
            elif line == b"start":
                self.stream(self.lines())
            elif line == b"stop":
                self.halt()

    def lines(self) -> Iterator[bytes]:
        """Yield a line for each sample: S, number, time in µs, current in nA, voltage in µV, level of the mark pin.
        The time wraps around after 0.3 s and the number after 50 lines."""
        count = int(self.waveform.seconds * self.rate)
        times = (np.arange(count) + 0.5) / (self.rate * (1 + self.ppm * 1e-6))
        fine = times[:, None] + np.linspace(-0.5, 0.5, 101)[None, 1:] / self.rate
        current = self.waveform.at(fine).mean(1) + self.rng.normal(0, 5e-6, count)
        marks = self.waveform.mark(times)
        for k in range(count):
            micros = (2**32 - 300_000 + k * 1_000_000 // self.rate) % 2**32
            body = f"S,{k + 2**32 - 50 if k < 50 else k - 50},{micros},{round(current[k] * 1e9)},"
            body += f"{round(self.waveform.volts * 1e6)},{int(marks[k])}"
            line = f"{body}*{_crc(body.encode()):02X}\r\n".encode()
            draw = self.rng.random() if 0 < k < count - 1 else 1.0
            self.bad += draw < 0.02
            if draw < 0.01:
                continue
            yield line.replace(b",", b",1", 3) if draw < 0.02 else line


def _crc(data: bytes) -> int:
    """Return the CRC-8: the remainder of a division by the polynomial x^8 + x^2 + x + 1 (0x107)."""
    value = int.from_bytes(data, "big") << 8
    while (length := value.bit_length()) > 8:
        value ^= 0x107 << (length - 9)
    return value
