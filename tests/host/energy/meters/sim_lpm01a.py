"""A simulated LPM01A on a pseudo-terminal: acknowledged commands, both sample formats, time marks, lost samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.host.energy.meters.sim_pty import PtyInstrument
from tests.host.energy.meters.waveform import Waveform


class SimLpm01a(PtyInstrument):
    """A simulated LPM01A that measures ``waveform``. Its clock is ``ppm`` too fast, and it loses the share ``lost`` of
    its samples. It sends the message ``error`` during the measurement, rejects the command ``refuse``, and accepts only
    ``rates`` as sample rates (all if it is empty)."""

    def __init__(
        self,
        waveform: Waveform,
        seed: int = 0,
        ppm: float = 100.0,
        lost: float = 0.02,
        error: str = "",
        refuse: str = "",
        rates: tuple[str, ...] = (),
        trigger: str = "sw",
    ) -> None:
        super().__init__()
        self.waveform, self.ppm, self.lost = waveform, ppm, lost
        self.error, self.refuse = error, refuse
        self.rng = np.random.default_rng(seed + 2000)
        self.rates = rates
        self.settings: dict[str, str] = {"trigsrc": trigger, "pwr": "auto"}
        self.power: list[str] = []
        self.controlled = False
        self.dropped = 0
        self._buffer = b""

    def received(self, data: bytes) -> None:
        self._buffer += data
        while b"\n" in self._buffer:
            line, _, self._buffer = self._buffer.partition(b"\n")
            self.command(line.decode().strip())

    def command(self, text: str) -> None:
        """Execute a command of the host and send its acknowledgement."""
        name, _, value = text.partition(" ")
        commands = (
            *("volt", "freq", "acqtime", "output", "format", "htc", "hrc", "start", "stop"),
            *("trigsrc", "trigdelay", "pwr"),
        )
        if not name:
            return
        if (
            name not in commands
            or name == self.refuse
            or (not self.controlled and name not in ("htc", "stop"))
        ):
            self.send(f"PowerShield > error {name}\r\n".encode())
            return
        if name == "freq" and self.rates and value not in self.rates:
            self.send(f"error {text}\r\nError detail: rate\r\n".encode())
            return
        if name == "pwr":
            self.power.append(value)
        if name == "stop":
            self.halt()
            self.send(b"ack stop\r\n")
            return
        self.settings[name] = value
        self.controlled = name != "hrc" and (self.controlled or name == "htc")
        self.send(f"PowerShield > ack {text}\r\n".encode())
        # With another trigger than "sw", the instrument waits for an edge at a pin.
        if name == "start" and self.settings["trigsrc"] == "sw":
            self.stream(self.chunks())

    @property
    def rate(self) -> int:
        """The samples per second."""
        text = self.settings["freq"]
        return int(text[:-1]) * 1000 if text.endswith("k") else int(text)

    def chunks(self) -> Iterator[bytes]:
        """Yield the samples of each tenth of a second and the time mark after them."""
        binary = self.settings["format"] == "bin_hexa"
        count = int(self.waveform.seconds * self.rate)
        current_a = self.waveform.at(np.arange(count) / (self.rate * (1 + self.ppm * 1e-6)))
        current_a = np.maximum(
            current_a * self.rng.normal(1, 0.004, count) + self.rng.normal(0, 2e-7, count), 1e-8
        )
        keep = self.rng.random(count) >= self.lost
        samples_per_mark = self.rate // 10
        self.dropped = int(count - keep.sum())
        for offset in range(0, count, samples_per_mark):
            part = current_a[offset : offset + samples_per_mark][keep[offset : offset + samples_per_mark]]
            yield b"".join(map(_binary if binary else _ascii, part.tolist()))
            if offset + samples_per_mark <= count:
                milliseconds = (offset + samples_per_mark) * 1000 // self.rate
                yield _mark(milliseconds, binary)
            if offset == 0 and self.error:
                text = self.error.encode()
                yield b"\xf0\xf1" + text + b"\xff\xff" if binary else b"error " + text + b"\r\n"
        if binary:
            yield b"\xf0\xf4\xff\xff"


def _mark(milliseconds: int, binary: bool) -> bytes:
    """Return a time mark."""
    if binary:
        return b"\xf0\xf3" + milliseconds.to_bytes(4, "big") + b"\x03\xff\xff"
    return f"TimeStamp: {milliseconds // 1000:03d}s {milliseconds % 1000:03d}ms, buff 03%\r\n".encode()


def _ascii(amperes: float) -> bytes:
    """Return a sample as a line of the format ``ascii_dec``."""
    exponent = int(np.floor(np.log10(amperes))) - 3
    mantissa = round(amperes / 10.0**exponent)
    if mantissa == 10_000:
        mantissa, exponent = 1000, exponent + 1
    return f"{mantissa:04d}{exponent:+03d}\r\n".encode()


def _binary(amperes: float) -> bytes:
    """Return a sample of the format ``bin_hexa``: a 12-bit number, and the exponent of 1/16 in the upper 4 bits."""
    power = 0
    while power < 14 and amperes * 16.0 ** (power + 1) <= 4095:
        power += 1
    return (power << 12 | round(amperes * 16.0**power)).to_bytes(2, "big")
