"""A simulated bench multimeter on a TCP socket: sample timer, memory, ranges, noise, invalid readings."""

from __future__ import annotations

import threading

import numpy as np

from tests.host.energy.meters.sim_tcp import TcpInstrument
from tests.host.energy.meters.waveform import Waveform

#: The full scale of each range in amperes.
RANGES = (100e-6, 1e-3, 10e-3, 100e-3, 1.0)


class SimDmm(TcpInstrument):
    """A simulated multimeter that measures ``waveform``. Its clock is ``ppm`` too fast, and the share ``lost`` of its
    readings is invalid. ``timer``: it has a sample timer."""

    def __init__(
        self, waveform: Waveform, seed: int = 0, ppm: float = 100.0, lost: float = 0.02, timer: bool = True
    ) -> None:
        super().__init__()
        self.waveform, self.ppm, self.lost, self.timer = waveform, ppm, lost, timer
        self.rng = np.random.default_rng(seed + 3000)
        self.interval = 0.0
        self.errors: list[str] = []
        self.memory: list[str] = []
        self.invalid = self.valid = 0  # readings of the last recording
        self.emptied = threading.Event()
        self.reads = 0

    def answer(self, line: str) -> str | None:
        head, _, value = line.partition(" ")
        if line == "*IDN?":
            return "Arenite Test,34465X,0,1"
        if line == "SYST:ERR?":
            return self.errors.pop(0) if self.errors else '+0,"No error"'
        if head == "SAMP:TIM":
            if self.timer:
                self.interval = float(value)
            else:
                self.errors.append('-113,"Undefined header"')
        elif line == "SAMP:TIM?":
            return f"{self.interval:+.8E}"
        elif line == "INIT":
            self.memory = self.readings()
        elif line == "DATA:POIN?":
            # The host reads the memory while it is filled.
            if not self.memory:
                self.emptied.set()
            return f"+{min(len(self.memory), 1500)}"
        elif head == "DATA:REM?":
            count = int(value)
            returned, self.memory = self.memory[:count], self.memory[count:]
            return ",".join(returned)
        elif line == "READ?":
            self.reads += 1
            return f"{float(self.waveform.at(np.array([0.001 * self.reads]))[0]):+.8E}"
        return None

    def readings(self) -> list[str]:
        count = int(self.waveform.seconds / self.interval)
        current_a = self.waveform.at(np.arange(count) * self.interval / (1 + self.ppm * 1e-6))
        scale = np.array(RANGES)[np.searchsorted(RANGES, current_a)]
        measured_a = current_a * self.rng.normal(1, 5e-4, count) + self.rng.normal(0, 1e-4, count) * scale
        # A change of range loses a reading, and a few other readings are invalid.
        invalid = (self.rng.random(count) < self.lost) | (np.diff(scale, prepend=scale[0]) != 0)
        self.invalid, self.valid = int(invalid.sum()), int((~invalid).sum())
        return [
            "+9.91000000E+37" if is_invalid else f"{value:+.8E}"
            for value, is_invalid in zip(measured_a, invalid, strict=True)
        ]
