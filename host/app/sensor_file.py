"""Write the samples of a virtual sensor, with the faults of a real one: lost, late and stuck samples, and an unplugged
sensor.

``virtual_sensor.c`` reads this file and describes its format.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.errors import UsageError

#: Samples of a record, so samples that arrive at the same time: 10 ms at 16 kHz.
BLOCK = 160
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


def sensor_bytes(samples: np.ndarray, faults: Sequence[Fault] = (), block: int = BLOCK) -> bytes:
    """Return the contents of ``sensor.bin`` for int16 ``samples``.

    A record of up to ``block`` samples arrives when its last sample was measured. One second after the last one, the
    file ends.
    """
    values = samples.astype("<i2").reshape(-1).copy()
    arrival = np.arange(1, len(values) + 1, dtype=np.int64)  # the time at the end of each sample
    keep = np.ones(len(values), bool)
    breaks = {len(values)}
    for fault in faults:
        start, end = fault.at, min(fault.at + fault.count, len(values))
        if start >= len(values):
            raise UsageError(
                f"A fault begins at sample {start}, but there are {len(values)} samples.",
                "Let it begin earlier.",
            )
        breaks |= {start, end}
        if fault.kind == STUCK:
            values[start:end] = values[max(start - 1, 0)]
        elif fault.kind == LATE:
            arrival[start:end] = arrival[end - 1]
        elif fault.kind == LOST:
            keep[start:end] = False
        else:
            arrival[start:] += fault.count
    parts = []
    lost = 0
    at = 0
    for end in sorted(breaks):
        while at < end:
            stop = min(end, (at // block + 1) * block)
            if keep[at]:
                parts.append(struct.pack("<III", int(arrival[stop - 1]), lost, stop - at))
                parts.append(values[at:stop].tobytes())
                lost = 0
            else:
                lost += stop - at
            at = stop
    last = int(arrival[-1]) if len(values) else 0
    parts.append(struct.pack("<III", last + 100 * block, lost, 0))
    return b"".join(parts)
