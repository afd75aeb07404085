"""Write the samples of a virtual sensor, with the faults of a real one: lost, late and stuck samples, and an unplugged
sensor.

``virtual_sensor.c`` reads this file and describes its format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from arenite.errors import UsageError

#: The most values of a record: RECORD of virtual_sensor.c.
MAX_VALUES = 256
#: The samples of a record arrive at the same time: those of this part of a second, if a record has room for them.
_RECORDS_PER_SECOND = 100
#: Samples per second, unless the caller gives another rate.
RATE = 16000
#: The kinds of faults.
LOST, LATE, STUCK, UNPLUGGED = "lost", "late", "stuck", "unplugged"
KINDS = (LOST, LATE, STUCK, UNPLUGGED)


@dataclass(frozen=True)
class Fault:
    """A fault of ``kind`` that begins at sample ``at`` and concerns ``count`` samples.

    ``lost`` samples never arrive, and the sensor reports how many were lost. ``late`` samples arrive together at the
    end of the fault. ``stuck`` samples repeat the sample before them. An ``unplugged`` sensor sends nothing, and
    reports nothing either: the samples that follow carry on as if no time had passed.
    """

    kind: str
    at: int
    count: int

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(
                f"'{self.kind}' is not a fault of a sensor.", f"Choose one of {', '.join(KINDS)}."
            )
        if self.at < 0 or self.count < 1:
            raise UsageError(
                f"A fault cannot begin at sample {self.at} and concern {self.count} samples.",
                "Give a sample from 0 on, and at least 1 sample.",
            )


def block_of(rate: int, channels: int) -> int:
    """Return the number of samples that arrive at the same time: those of 10 ms, if a record has room for them."""
    return max(1, min(rate // _RECORDS_PER_SECOND, MAX_VALUES // channels))


def sensor_bytes(samples: np.ndarray, faults: Sequence[Fault] = (), rate: int = RATE) -> bytes:
    """Return the contents of ``sensor.bin`` as one value; ``sensor_records`` describes the arguments."""
    return b"".join(sensor_records(samples, faults, rate))


def sensor_records(samples: np.ndarray, faults: Sequence[Fault] = (), rate: int = RATE) -> Iterator[bytes]:
    """Yield the records of ``sensor.bin`` for int16 ``samples`` [samples] or [samples, channels], which may be a
    memory-mapped file: only one block is read at a time.

    A record of ``block_of`` samples arrives when its last sample was measured. One second (``rate`` samples) after
    the last one, the file ends. Raises ``UsageError`` if a fault begins after the last sample.
    """
    for fault in faults:
        if fault.at >= len(samples):
            raise UsageError(
                f"A fault begins at sample {fault.at}, but there are {len(samples)} samples.",
                "Let it begin earlier.",
            )
    timeline = _Timeline(len(samples), faults)
    lost = 0
    block = block_of(rate, samples.shape[1] if samples.ndim > 1 else 1)
    for start, end in timeline.records(block):
        if timeline.has(LOST, start):
            lost += end - start
            continue
        values = samples[start:end]
        if timeline.has(STUCK, start):
            at = timeline.value_of(start)
            values = np.broadcast_to(samples[at : at + 1], values.shape)
        yield (
            struct.pack("<III", timeline.arrival(end - 1), lost, end - start) + values.astype("<i2").tobytes()
        )
        lost = 0
    last = timeline.arrival(len(samples) - 1) if len(samples) else 0
    yield struct.pack("<III", last + rate, lost, 0)


def samples_that_arrive(samples: np.ndarray, faults: Sequence[Fault]) -> tuple[np.ndarray, np.ndarray]:
    """Return the values that the sensor gives for int16 ``samples`` [samples] or [samples, channels], and whether each
    one arrives: bool [samples]. Late samples count as samples that arrive in time."""
    values, arrive = np.array(samples), np.ones(len(samples), bool)
    timeline = _Timeline(len(samples), faults)
    for start, end in timeline.records(len(samples)):
        arrive[start:end] = timeline.has(LOST, start) is None
        if timeline.has(STUCK, start):
            values[start:end] = samples[timeline.value_of(start)]
    return values, arrive


@dataclass(frozen=True)
class _Timeline:
    """When ``count`` samples arrive with ``faults``. Times are in sample periods since the start."""

    count: int
    faults: Sequence[Fault]

    def records(self, block: int) -> Iterator[tuple[int, int]]:
        """Yield the first sample of each record, and the one behind its last. No fault begins or ends within one."""
        breaks = {self.count} | {
            min(edge, self.count) for f in self.faults for edge in (f.at, f.at + f.count)
        }
        at = 0
        for end in sorted(breaks):
            while at < end:
                stop = min(end, (at // block + 1) * block)
                yield at, stop
                at = stop

    def has(self, kind: str, sample: int) -> Fault | None:
        """Return the last fault of ``kind`` that concerns ``sample``, or None."""
        found = [f for f in self.faults if f.kind == kind and f.at <= sample < f.at + f.count]
        return found[-1] if found else None

    def value_of(self, sample: int) -> int:
        """Return the sample whose value the sensor gives for ``sample``: an earlier one if it is stuck."""
        while (fault := self.has(STUCK, sample)) is not None and sample > 0:
            sample = max(fault.at - 1, 0)
        return sample

    def arrival(self, sample: int) -> int:
        """Return the time at which ``sample`` arrives."""
        late = [f.at + f.count for f in self.faults if f.kind == LATE and f.at <= sample < f.at + f.count]
        newest = min(max([sample + 1, *late]), self.count)
        if newest > sample + 1:
            return self.arrival(newest - 1)  # which may be late itself
        return sample + 1 + sum(f.count for f in self.faults if f.kind == UNPLUGGED and f.at <= sample)
