"""Decode the two sample formats of ST's LPM01A, and compute the time of each sample from the meter's time marks.

In the ASCII format, each line is a sample: ``6409-07`` is 6409·10⁻⁷ A. In the binary format, a sample has two bytes:
four bits of an exponent n and twelve bits of a value, which mean value·16⁻ⁿ A. With n = 15, a message begins instead.
It consists of ``F0``, a kind (``F1`` error, ``F2`` information, ``F3`` time, ``F4`` end, ``F5`` overcurrent, ``F6``
off, ``F7`` voltage), its data, and ``FF FF``.
"""

from __future__ import annotations

import re

import numpy as np

from arenite.host.energy.meters.trace import Floats, Trace, empty, join

#: Time marks are in milliseconds, so a gap below half a millisecond is not a loss.
MARK_TOLERANCE_S = 0.0005
#: A line contains several values if a line end was lost.
_LINE = re.compile(r"^(?:\d{4}[+-]\d\d)+$")
_SAMPLE = re.compile(r"(\d{4})([+-]\d\d)")
_SECONDS = re.compile(r"(\d+)\s*s\b")
_MILLISECONDS = re.compile(r"(\d+)\s*ms\b")
_STOPPED = re.compile(rb"(PowerShield > )?ack stop\r?\n")
#: The number of data bytes of the kinds of messages that have a fixed length.
_FIXED_BYTES = {0xF3: 5, 0xF4: 0, 0xF5: 0, 0xF6: 0, 0xF7: 2}


class TimedSamples:
    """The samples between the meter's time marks. If samples are missing at a mark, they were lost somewhere between
    the previous mark and this one."""

    def __init__(self, rate_hz: float, supply_v: float) -> None:
        self._rate, self._supply = rate_hz, supply_v
        self._waiting: list[Floats] = []  # the samples since the last mark
        self._index = 0  # the number of samples before the next sample, including lost samples
        self.marks = 0  # the number of marks that arrived
        self.notes: list[str] = []

    def add(self, current: Floats) -> None:
        """Add samples in the order of their arrival."""
        if len(current):
            self._waiting.append(current)

    def mark(self, seconds: float) -> Trace:
        """Return the samples since the last mark, spread evenly over the time up to this mark at ``seconds``."""
        self.marks += 1
        current = self._take_waiting()
        expected = round(seconds * self._rate) - self._index
        lost = expected - len(current)
        if lost <= MARK_TOLERANCE_S * self._rate:
            return self._with_times(current, len(current))
        return self._with_times(current, expected)

    def finish(self) -> Trace:
        """Return the samples after the last mark, where losses cannot be detected."""
        current = self._take_waiting()
        return self._with_times(current, len(current))

    def no_samples(self) -> Trace:
        """Return a trace without samples, for the time before the first mark."""
        return empty(self._rate, self._supply)

    def _take_waiting(self) -> Floats:
        current = np.concatenate(self._waiting) if self._waiting else np.empty(0)
        self._waiting = []
        return current

    def _with_times(self, current: Floats, slots: int) -> Trace:
        """Return the samples ``current``, spread evenly over ``slots`` sample intervals. Slots without a sample count
        as lost."""
        count = len(current)
        # A slot is the time of one sample. Each sample is put in the middle of its share of the slots. Without a loss,
        # its share is one slot.
        offset = self._index + ((np.arange(count) + 0.5) * (slots / count) - 0.5 if count else np.empty(0))
        self._index += slots
        lost = slots - count
        notes, self.notes = tuple(self.notes), []
        times = np.asarray(offset / self._rate, np.float64)
        return Trace(times, current, self._supply, self._rate, lost_samples=lost, notes=notes)


class AsciiDecoder:
    """Decodes ``format ascii_dec``. A garbled line is skipped; the next time mark shows that a sample is missing."""

    def __init__(self, rate_hz: float, supply_v: float) -> None:
        self.timed = TimedSamples(rate_hz, supply_v)
        self._rest = b""

    def feed(self, data: bytes) -> Trace:
        """See :class:`Decoder`."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        traces: list[Trace] = []
        values: list[float] = []
        for raw in lines:
            text = raw.decode("ascii", "replace").replace("PowerShield >", "").strip()
            if _LINE.match(text):
                values += [int(value) * 10.0 ** int(power) for value, power in _SAMPLE.findall(text)]
            elif text.lower().startswith("timestamp"):
                self.timed.add(np.array(values, dtype=np.float64))
                values = []
                traces.append(self.timed.mark(_stamp(text)))
            elif text.lower().startswith(("error", "err ")):
                self.timed.notes.append(f"the meter reports: {text}")
        self.timed.add(np.array(values, dtype=np.float64))
        return join(traces) if traces else self.timed.no_samples()

    def finish(self) -> Trace:
        """See :class:`Decoder`."""
        return self.timed.finish()


def _stamp(text: str) -> float:
    """Return the seconds of a time mark such as ``TimeStamp: 012s 345ms, buff 03%``."""
    seconds, milliseconds = _SECONDS.search(text), _MILLISECONDS.search(text)
    return (int(seconds[1]) if seconds else 0) + (int(milliseconds[1]) if milliseconds else 0) / 1000


class BinaryDecoder:
    """Decodes ``format bin_hexa``."""

    def __init__(self, rate_hz: float, supply_v: float) -> None:
        self.timed = TimedSamples(rate_hz, supply_v)
        self._rest = b""
        self._ended = False

    def feed(self, data: bytes) -> Trace:
        """See :class:`Decoder`."""
        # The answer to the stop command arrives as text among the samples.
        raw = self._rest + _STOPPED.sub(b"", data)
        traces: list[Trace] = []
        offset = 0
        while offset + 1 < len(raw) and not self._ended:
            words = np.frombuffer(raw[offset : offset + (len(raw) - offset) // 2 * 2], dtype=">u2")
            special = np.flatnonzero(words >= 0xF000)
            count = int(special[0]) if len(special) else len(words)
            power = (words[:count] >> 12).astype(np.float64)
            self.timed.add((words[:count] & 0xFFF) * 16.0**-power)
            offset += 2 * count
            if count == len(words):
                break
            length = self._message(raw[offset:], traces)
            if length == 0:
                break
            offset += length
        self._rest = b"" if self._ended else raw[offset:]
        return join(traces) if traces else self.timed.no_samples()

    def _message(self, raw: bytes, traces: list[Trace]) -> int:
        """Process the message at the start of ``raw`` and append the samples that it completes to ``traces``. Return
        the length of the message; 0 if it is incomplete. If no message starts here, return the number of bytes to
        skip."""
        kind = raw[1]
        if raw[0] != 0xF0 or kind >> 4 != 0xF:
            return 1
        if kind in (0xF1, 0xF2):
            end = raw.find(b"\xff\xff", 2)
            if end < 0:
                return 0 if len(raw) < 256 else 2
            if kind == 0xF1:
                self.timed.notes.append(f"the meter reports: {raw[2:end].decode('ascii', 'replace').strip()}")
            return end + 2
        if kind not in _FIXED_BYTES:
            return 2
        size = _FIXED_BYTES[kind]
        if len(raw) < size + 4:
            return 0
        if raw[2 + size : 4 + size] != b"\xff\xff":
            return 2
        self._ended = kind == 0xF4
        if kind == 0xF3:
            milliseconds = int.from_bytes(raw[2:6], "big") & 0x7FFFFFFF
            traces.append(self.timed.mark(milliseconds / 1000))
        elif kind in (0xF5, 0xF6):
            self.timed.notes.append(
                "the meter reports: " + ("overcurrent" if kind == 0xF5 else "target switched off")
            )
        return size + 4

    def finish(self) -> Trace:
        """See :class:`Decoder`."""
        return self.timed.finish()
