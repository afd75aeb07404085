"""A simulated PPK2 on a pseudo-terminal: opcodes, calibration, range switches with spikes, noise, lost samples."""

from __future__ import annotations

import threading

import numpy as np

from tests.host.energy.meters.sim_pty import PtyInstrument
from tests.host.energy.meters.waveform import Waveform

#: Samples per second.
RATE = 100_000
#: Volts per step of the ADC.
MULT = 1.8 / 163840
FULL = (50e-6, 500e-6, 5e-3, 60e-3, 1.0)  # the full scale of each range in amperes


class SimPpk2(PtyInstrument):
    """A simulated PPK2 that measures ``waveform``. Its clock is ``ppm`` too fast, and it loses the share ``lost`` of
    its samples, and ``burst`` times 40 samples in a row. The first sample comes after ``misaligned`` other bytes."""

    def __init__(
        self,
        waveform: Waveform,
        seed: int = 0,
        ppm: float = 100.0,
        lost: float = 0.02,
        burst: int = 0,
        misaligned: int = 0,
    ) -> None:
        super().__init__()
        rng = np.random.default_rng(seed + 1000)
        # The calibration of each range. The names are those of the instrument.
        self.r = np.array([1031.64, 101.65, 10.15, 0.94, 0.043]) * rng.uniform(0.97, 1.03, 5)
        self.gs = np.array([0.0, 0.0, 1.0, 1.0, 0.1]) * rng.uniform(0, 1, 5)
        self.gi = rng.uniform(0.97, 1.03, 5)
        self.o = rng.uniform(100, 300, 5)
        self.s = rng.uniform(-1e-8, 1e-8, 5)
        self.i = rng.uniform(-5e-8, 5e-8, 5)
        self.ug = rng.uniform(0.98, 1.02, 5)
        self.waveform, self.rng, self.ppm, self.lost, self.burst = waveform, rng, ppm, lost, burst
        self.misaligned = misaligned
        self.regulator_mv: int | None = None
        self.mode: int | None = None
        self.switched_off = threading.Event()
        self.dropped = 0
        self._buffer = b""

    def metadata(self) -> bytes:
        lines = ["Calibrated: 0"]
        for name in ("r", "gs", "gi", "o", "s", "i", "ug"):
            lines += [f"{name.upper()}{k}: {value:.10g}" for k, value in enumerate(getattr(self, name))]
        return ("\n".join([*lines, "VDD: 3000", "HW: 37922", "mode: 2", "IA: 56", "END"]) + "\n").encode()

    def received(self, data: bytes) -> None:
        self._buffer += data
        while self._buffer:
            # The length of the command, which its first byte determines.
            size = {0x0C: 2, 0x0D: 3, 0x11: 2}.get(self._buffer[0], 1)
            if len(self._buffer) < size:
                return
            command, self._buffer = self._buffer[:size], self._buffer[size:]
            if command[0] == 0x19:
                self.send(self.metadata())
            elif command[0] == 0x0D:
                self.regulator_mv = command[1] << 8 | command[2]
            elif command[0] == 0x11:
                self.mode = command[1]
            elif command == b"\x0c\x00":
                self.switched_off.set()
            elif command[0] == 0x06:
                raw = b"\x5a\xc3\x11"[: self.misaligned] + self.words().astype("<u4").tobytes()
                self.stream(raw[at : at + 1021] for at in range(0, len(raw), 1021))
            elif command[0] == 0x07:
                self.halt()

    def words(self) -> np.ndarray:
        """Return the words of all samples that are not lost. The clock is ``ppm`` too fast, so samples are taken
        slightly early."""
        count = int(self.waveform.seconds * RATE)
        times = np.arange(count) / (RATE * (1 + self.ppm * 1e-6))
        current_a = self.waveform.at(times)
        ranges = np.empty(count, dtype=np.int64)
        measured_a = current_a.copy()
        range_index, samples_since_switch = 0, 99
        spikes = self.rng.uniform(0.3, 3.0, count)
        for k, amperes in enumerate(current_a.tolist()):
            ranges[k] = range_index
            measured_a[k] = min(amperes, FULL[range_index] * 1.1)
            if samples_since_switch < 2:
                measured_a[k] *= spikes[k]
            samples_since_switch += 1
            if amperes > FULL[range_index] and range_index < 4:
                range_index, samples_since_switch = range_index + 1, 0
            elif range_index and amperes < 0.8 * FULL[range_index - 1]:
                range_index, samples_since_switch = range_index - 1, 0
        # This is the inverse of the formula in ``Calibration.amperes``.
        gs, gi = self.gs[ranges], self.gi[ranges]
        c = measured_a / self.ug[ranges] - self.s[ranges] * self.waveform.volts - self.i[ranges]
        x = 2 * c / (gi + np.sqrt(np.maximum(gi * gi + 4 * gs * c, 0)))
        adc = (x * self.r[ranges] / MULT + self.o[ranges]) / 4 + self.rng.normal(0, 2, count)
        codes = np.clip(np.round(adc), 0, 0x3FFF).astype(np.int64)
        logic = self.waveform.mark(times).astype(np.int64) | 0x80
        words = codes | ranges << 14 | (np.arange(count) & 63) << 18 | logic << 24
        keep = self.rng.random(count) >= self.lost
        for burst_start in self.rng.integers(100, count - 100, self.burst):
            keep[burst_start : burst_start + 40] = False
        keep[0] = keep[-1] = True
        self.dropped = int(count - keep.sum())
        return words[keep]
