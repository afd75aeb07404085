"""A simulated PPK2 that measures an emulated board in real time. The current follows the board's mark pin.

QEMU logs every write to the register of the mark pin with its time. The instrument reads the log about 50 ms later and
sends the matching samples. The program under test uses neither the log nor the simulation directly.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.host.energy.meters.sim_ppk2 import FULL, MULT, RATE, SimPpk2
from tests.host.energy.meters.waveform import Waveform

IDLE_A, ACTIVE_A = 0.9e-3, 21e-3
#: The time after which samples are sent. The log is complete by then.
DELAY_S = 0.05
_WRITE = re.compile(r"^\d+@(\d+\.\d+):mps2_fpgaio_write .* offset 0x0 data (0x[0-9a-f]+)")


def logging_emulator(folder: Path) -> Path:
    """Write a script to ``folder`` that starts the emulator with a log of its pins; return the path of the log.

    ``folder`` must be first in PATH.
    """
    log = folder / "pins.log"
    emulator = shutil.which("qemu-system-arm")
    script = folder / "qemu-system-arm"
    script.write_text(
        f'#!/bin/sh\nexec {emulator} -D {log} -msg timestamp=on -trace mps2_fpgaio_write "$@"\n', "utf-8"
    )
    script.chmod(0o755)
    return log


class LivePpk2(SimPpk2):
    """The simulated PPK2. ``logic``: whether the mark pin is connected to the PPK2. ``edges``: (time, level) from
    QEMU's log.

    ``between``: the board draws its active current between two falling edges, not while the pin is high.
    """

    def __init__(
        self,
        log: Path,
        *,
        volts: float = 3.3,
        logic: bool = True,
        ppm: float = 100.0,
        between: bool = False,
    ) -> None:
        idle_waveform = Waveform(np.array([0.0, 1.0]), np.zeros(2), (), volts, IDLE_A, IDLE_A)
        super().__init__(idle_waveform, ppm=ppm)
        self.log, self.logic, self.between = log, logic, between
        self.edges: list[tuple[float, bool]] = []
        self._at, self._torn = 0, ""
        self._stopped_s = float("inf")

    def received(self, data: bytes) -> None:
        if data == b"\x06" and not self._buffer:
            self._stopped_s = float("inf")
            self.stream(self.live())
        elif data == b"\x07" and not self._buffer:
            # Like with the real instrument, samples that were taken before the command still arrive, even on a busy
            # computer.
            self._stopped_s = time.time()
        else:
            super().received(data)

    def read_log(self) -> None:
        """Append the new edges in QEMU's log to ``edges``."""
        if not self.log.exists():
            return
        with self.log.open() as file:
            file.seek(self._at)
            text = self._torn + file.read()
            self._at = file.tell()
        *lines, self._torn = text.split("\n")
        for line in lines:
            if match := _WRITE.match(line):
                level = bool(int(match[2], 16) & 1)
                if level != (bool(self.edges) and self.edges[-1][1]):
                    self.edges.append((float(match[1]), level))

    def durations(self) -> list[float]:
        """Return the seconds of each inference in the log."""
        pairs = zip(self.edges, self.edges[1:], strict=False)
        return [b - a for (a, up), (b, down) in pairs if up and not down]

    def between_falls(self) -> list[float]:
        """Return the seconds from each odd falling edge to the next."""
        falls = [edge for edge, up in self.edges if not up]
        return [b - a for a, b in zip(falls[::2], falls[1::2], strict=False)]

    def live(self) -> Iterator[bytes]:
        """Yield samples in real time until the host stops the measurement."""
        began, sent, last = time.time(), 0, 0
        while began + sent / RATE < self._stopped_s:
            time.sleep(0.01)
            # Take the time before the log is read, because on a busy computer reading may take longer than DELAY_S.
            now = time.time()
            self.read_log()
            until = int((now - DELAY_S - began) * RATE * (1 + self.ppm * 1e-6))
            if until <= sent:
                continue
            index = np.arange(sent, until)
            times = began + index / (RATE * (1 + self.ppm * 1e-6))
            edge_times = np.array([edge for edge, _ in self.edges])
            level = np.array([False, *(up for _, up in self.edges)])[
                np.searchsorted(edge_times, times, side="right")
            ]
            busy = level
            if self.between:
                falls = np.array([edge for edge, up in self.edges if not up])
                busy = np.searchsorted(falls, times, side="right") % 2 == 1
            amperes = np.where(busy, ACTIVE_A, IDLE_A) * self.rng.normal(1, 0.003, len(index))
            ranges = np.searchsorted(FULL, amperes)
            switched = np.diff(ranges, prepend=last) != 0
            last = int(ranges[-1])
            spikes = np.where(switched, self.rng.uniform(0.3, 3.0, len(index)), 1.0)
            words = self.encode(amperes * spikes, ranges)
            words |= (index & 63) << 18
            if self.logic:
                words |= level.astype(np.int64) << 24
            keep = self.rng.random(len(index)) >= self.lost
            self.dropped += int(len(index) - keep.sum())
            sent = until
            yield words[keep].astype("<u4").tobytes()

    def encode(self, amperes: np.ndarray, ranges: np.ndarray) -> np.ndarray:
        """Return the ADC code (bits 0-13) and range (bits 14-16) of each sample. This is the inverse of the formula in
        ``Calibration.amperes``."""
        gs, gi = self.gs[ranges], self.gi[ranges]
        c = amperes / self.ug[ranges] - self.s[ranges] * self.waveform.volts - self.i[ranges]
        x = 2 * c / (gi + np.sqrt(np.maximum(gi * gi + 4 * gs * c, 0)))
        codes = np.clip(np.round((x * self.r[ranges] / MULT + self.o[ranges]) / 4), 0, 0x3FFF)
        return codes.astype(np.int64) | ranges << 14
