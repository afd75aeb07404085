"""Decode the PPK2's samples: 100,000 words of 4 bytes per second, little-endian.

Bits 0–13 contain the ADC value (in units of four ADC steps), bits 14–16 the measuring range, bits 18–23 a counter that
shows losses, and bits 24–31 eight digital inputs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arenite.host.energy.meters.trace import Trace

RATE_HZ = 100_000.0
RANGES = 5
ADC_MULT = 1.8 / 163840  # volts per ADC step over the shunt
#: The shunts in ohms, for a device whose metadata lacks them.
NOMINAL_R = (1031.64, 101.65, 10.15, 0.94, 0.043)
#: The number of samples that a range needs to settle. Until then it shows spikes that the board never drew.
SETTLING_SAMPLES = 3
_FIELD = re.compile(r"^([A-Za-z]+)([0-4])?\s*:\s*(\S+)$")


@dataclass(frozen=True)
class Calibration:
    """The calibration of each of the five ranges: shunt R in ohms, gains GS and GI, ADC offset O, slope S over the
    supply voltage, offset I, user gain UG. ``amperes`` has the formula."""

    r: tuple[float, ...] = NOMINAL_R
    gs: tuple[float, ...] = (1.0,) * RANGES
    gi: tuple[float, ...] = (1.0,) * RANGES
    o: tuple[float, ...] = (0.0,) * RANGES
    s: tuple[float, ...] = (0.0,) * RANGES
    i: tuple[float, ...] = (0.0,) * RANGES
    ug: tuple[float, ...] = (1.0,) * RANGES
    other: Mapping[str, str] = field(default_factory=dict)  # other metadata: Calibrated, VDD, HW, mode, IA
    missing: tuple[str, ...] = ()  # figures that are missing or not numbers; their nominal values are used

    @staticmethod
    def parse(text: str) -> Calibration:
        """Return the calibration in the lines ``NAME: VALUE`` before ``END``."""
        values = {name: list(getattr(Calibration, name)) for name in ("r", "gs", "gi", "o", "s", "i", "ug")}
        parsed: set[str] = set()
        other: dict[str, str] = {}
        for line in text.splitlines():
            match = _FIELD.match(line.strip())
            if match is None:
                continue
            name, index, value = match[1].lower(), match[2], match[3]
            if index is None or name not in values:
                other[match[1] + (index or "")] = value
                continue
            try:
                number = float(value)
            except ValueError:
                continue
            # A shunt or a gain of zero is impossible: an unprogrammed unit sends 0 or nan. GS may be 0.
            if math.isfinite(number) and (number != 0 or name not in ("r", "gi", "ug")):
                values[name][int(index)] = number
                parsed.add(name + index)
        missing = tuple(f"{n}{k}".upper() for n in values for k in range(RANGES) if f"{n}{k}" not in parsed)
        fields_by_name: dict[str, Any] = {name: tuple(column) for name, column in values.items()}
        return Calibration(**fields_by_name, other=other, missing=missing)

    def amperes(
        self, adc: NDArray[np.int64], ranges: NDArray[np.int64], supply_v: float
    ) -> NDArray[np.float64]:
        """Return the amperes of 14-bit readings ``adc``, shape (n,), in the ranges ``ranges``, shape (n,):
        ``UG·(x·(GS·x + GI) + S·V + I)`` with ``x = (4·adc − O)·ADC_MULT / R`` and the supply voltage V."""
        r, gs, gi, o, s, i, ug = (
            np.array(c)[ranges] for c in (self.r, self.gs, self.gi, self.o, self.s, self.i, self.ug)
        )
        x = (adc * 4.0 - o) * (ADC_MULT / r)
        return np.asarray(ug * (x * (gs * x + gi) + (s * supply_v + i)), dtype=np.float64)


class Ppk2Decoder:
    """Decodes one recording. The last samples of each piece are held back until it is known whether a range switch
    follows."""

    def __init__(self, calibration: Calibration, supply_v: float) -> None:
        self._calibration = calibration
        self._supply = supply_v
        self._rest = b""
        self._aligned = False
        self._held = np.empty(0, dtype="<u4")
        self._index = -1  # number of the last returned sample, counting lost samples
        self._counter: int | None = None
        self._range: int | None = None

    def feed(self, data: bytes) -> Trace:
        """See :class:`Decoder`."""
        raw = self._rest + data
        if not self._aligned:
            if len(raw) < 256:
                self._rest = raw
                return self._take(0)
            raw = raw[_alignment(raw) :]
            self._aligned = True
        size = len(raw) // 4 * 4
        self._rest = raw[size:]
        self._held = np.concatenate([self._held, np.frombuffer(raw[:size], dtype="<u4")])
        return self._take(self._cut())

    def _cut(self) -> int:
        """Return the number of held samples that can be returned. Enough samples must follow them, and no range may be
        settling at the cut."""
        cut = len(self._held) - 2 * SETTLING_SAMPLES
        if cut <= 0:
            return 0
        ranges = (self._held >> 14) & 7
        switches = np.flatnonzero(ranges[1:] != ranges[:-1]) + 1
        limit = cut
        for switch in switches[::-1]:
            if switch <= limit - SETTLING_SAMPLES:
                break
            limit = min(limit, int(switch))
        # If the range switches all the time, it never settles, and its samples must not be held back forever.
        return limit if limit or cut < 4096 else cut

    def finish(self) -> Trace:
        """See :class:`Decoder`."""
        if not self._aligned and self._rest:
            self._held = np.frombuffer(self._rest[: len(self._rest) // 4 * 4], dtype="<u4")
            self._rest = b""
        return self._take(len(self._held))

    def _take(self, count: int) -> Trace:
        """Return the samples of the first ``count`` held words. The words after them only show whether a switch of the
        range follows."""
        words = self._held.astype(np.int64)
        counters = (words >> 18) & 63
        before = self._counter if self._counter is not None else int(counters[0]) - 1 if len(words) else 0
        delta = np.diff(counters, prepend=before)
        steps = (delta - 1) % 64 + 1
        ranges = (words >> 14) & 7
        valid = ranges < RANGES
        # If only one word has a wrong counter, the steps to this word and from it add up to 2, modulo 64.
        broken = np.flatnonzero((steps[:-1] != 1) & (steps[:-1] + steps[1:] == 66))
        steps[broken] = 1
        steps[broken + 1] = 1
        valid[broken] = False
        index = self._index + np.cumsum(steps)
        ranges = np.where(valid, ranges, 0)
        current = self._calibration.amperes(words & 0x3FFF, ranges, self._supply)
        current = self._settled(current, ranges, valid)
        last = int(index[count - 1]) if count else self._index
        keep = valid[:count]
        trace = Trace(
            index[:count][keep] / RATE_HZ,
            current[:count][keep],
            self._supply,
            RATE_HZ,
            marks=(words[:count][keep] >> 24).astype(np.uint8),
            lost_samples=last - self._index - int(np.count_nonzero(keep)),
        )
        if count:
            self._counter = (before + last - self._index) % 64
            self._index = last
            if keep.any():
                self._range = int(ranges[:count][keep][-1])
        self._held = self._held[count:]
        return trace

    def _settled(
        self,
        current: NDArray[np.float64],
        ranges: NDArray[np.int64],
        valid: NDArray[np.bool_],
    ) -> NDArray[np.float64]:
        """Replace the first samples after a switch of the range by the first settled sample of the same range.

        The current has changed before the range does, so a sample of the new range is nearer to the true current than a
        mean with the old range. If the range switches again before it settles, its last sample is used.
        """
        indices = np.flatnonzero(valid)
        if len(indices) == 0:
            return current
        settled_ranges = ranges[indices]
        switch = np.empty(len(settled_ranges), dtype=bool)
        switch[0] = self._range is not None and int(settled_ranges[0]) != self._range
        switch[1:] = settled_ranges[1:] != settled_ranges[:-1]
        starts = np.flatnonzero(switch)
        out = current.copy()
        ends = np.append(np.flatnonzero(switch[1:]) + 1, len(settled_ranges))
        for start in starts:
            end = ends[np.searchsorted(ends, start, side="right")]
            settled = min(start + SETTLING_SAMPLES, end - 1)
            out[indices[start:settled]] = current[indices[settled]]
        return out


def _alignment(raw: bytes) -> int:
    """Return the number of bytes before the first complete word: the number for which most counters count up by one.
    Reading may begin in the middle of a word if the meter is already sending."""
    scores = []
    for skip in range(4):
        words = np.frombuffer(raw[skip : skip + (len(raw) - skip) // 4 * 4], dtype="<u4")[:4096]
        steps = np.diff((words.astype(np.int64) >> 18) & 63) % 64
        scores.append(float(np.mean(steps == 1)))
    return int(np.argmax(scores))
