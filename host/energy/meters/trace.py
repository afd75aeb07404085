"""Define a recording of a meter: current, voltage and digital marks over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arenite.errors import DeviceError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trace:
    """A recording: the samples that arrived, in order. Lost samples are gaps in ``time_s``; they are never replaced by
    invented values.

    Every array has one entry per sample. ``time_s`` is strictly ascending and starts at any value.
    """

    time_s: Floats
    current_a: Floats
    voltage_v: Floats | float  # measured per sample, or the voltage that was set or stated
    rate_hz: float
    marks: NDArray[np.uint8] | None = None  # bit n: digital input n; None: the meter has none
    lost_samples: int = 0
    clock: str = "meter"  # the clock of time_s: meter or host
    started_s: float | None = None  # time.monotonic() of the host at about time 0, with the delays of USB
    gain_error: float | None = None  # relative to the reading, as the manufacturer states it; None: unknown
    notes: tuple[str, ...] = ()  # remarks on this recording
    meta: Mapping[str, Any] = field(default_factory=dict)  # facts about the meter and its settings, by name

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def power_w(self) -> Floats:
        return np.asarray(self.current_a * self.voltage_v, dtype=np.float64)

    def power_of(self, part: slice) -> Floats:
        """Return the watts of the samples in ``part``. This is faster than ``power_w`` for a long recording."""
        volts = self.voltage_v[part] if isinstance(self.voltage_v, np.ndarray) else self.voltage_v
        return np.asarray(self.current_a[part] * volts, dtype=np.float64)

    @property
    def supply_v(self) -> float:
        """Return the mean supply voltage of the recording."""
        return float(np.mean(self.voltage_v))

    @property
    def seconds(self) -> float:
        """Return the seconds from the first sample to the last."""
        return float(self.time_s[-1] - self.time_s[0]) if len(self) > 1 else 0.0

    def cumulative(self) -> tuple[Floats, Floats]:
        """Return times, and the joules from the first sample to each time, shape (n + 1,) each. Between two times the
        joules are linear.

        Each sample represents the time that is nearer to it than to its neighbors. The total equals that of the
        trapezoidal rule. But at a step of the current between two samples, no part of the step is counted on the wrong
        side.
        """
        edges = np.concatenate([self.time_s[:1], (self.time_s[1:] + self.time_s[:-1]) / 2, self.time_s[-1:]])
        return edges, np.concatenate([[0.0], np.cumsum(self.power_w * np.diff(edges))])

    def joules_at(self, times: Floats) -> Floats:
        """Return the joules from the first sample to each of ``times``, in the shape of ``times``. Before and after the
        recording the joules are constant."""
        return np.asarray(np.interp(times, *self.cumulative()), dtype=np.float64)

    def energy_j(self, start_s: float | None = None, end_s: float | None = None) -> float:
        """Return the joules between two times in seconds of ``time_s``, by default of the complete recording."""
        self.require(2)
        start = self.time_s[0] if start_s is None else start_s
        end = self.time_s[-1] if end_s is None else end_s
        first, last = self.joules_at(np.array([start, end]))
        return float(last - first)

    def require(self, samples: int) -> None:
        """Raise DeviceError if the recording has fewer than ``samples`` samples."""
        if len(self) < samples:
            raise DeviceError(
                f"The meter gave {len(self)} samples, but at least {samples} are needed.",
                "Measure for longer, and check that the meter is connected and powers the board or"
                " carries its current.",
            )


def empty(rate_hz: float, voltage_v: float) -> Trace:
    """Return a trace without samples."""
    none = np.empty(0)
    return Trace(none, none, voltage_v, rate_hz)


def join(parts: Sequence[Trace]) -> Trace:
    """Return one recording from its parts, which are in order. Figures other than samples, losses and notes are those
    of the last part."""
    filled = [part for part in parts if len(part)]
    last = parts[-1]
    lost = sum(part.lost_samples for part in parts)
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    if not filled:
        return replace(last, lost_samples=lost, notes=notes)
    voltage: Floats | float
    if all(isinstance(part.voltage_v, float) for part in filled):
        voltage = filled[0].voltage_v
    else:
        voltage = np.concatenate([np.broadcast_to(part.voltage_v, len(part)) for part in filled])
    marks = None
    if all(part.marks is not None for part in filled):
        marks = np.concatenate([part.marks for part in filled if part.marks is not None])
    return replace(
        last,
        time_s=np.concatenate([part.time_s for part in filled]),
        current_a=np.concatenate([part.current_a for part in filled]),
        voltage_v=voltage,
        marks=marks,
        lost_samples=lost,
        notes=notes,
    )
