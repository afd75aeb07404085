"""How often each part of an application's loop runs: when samples arrive, how long work takes, and when the processor
sleeps.

The loop of ``sample_loop.c`` is repeated with the instructions that each part takes instead of the part itself. The
counts of a window are those from the end of the window before to its own end, as the application measures them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: The most values that the loop moves at once.
_BLOCK_VALUES, _BLOCK_CHANNELS, _WIDE_BLOCK = 64, 16, 4

Counts = dict[str, float]


@dataclass(frozen=True)
class Schedule:
    """The samples of an application.

    Attributes:
        rate: samples per second.
        channels: values of a sample.
        window: samples from the start of a window's first frame to the end of its last one.
        hop: samples from window to window.
        record: samples that arrive at the same time.
        tick: instructions from one wake-up of a sleeping processor to the next.
        second: instructions of a second.
    """

    rate: int
    channels: int
    window: int
    hop: int
    record: int
    tick: float
    second: float

    @property
    def block(self) -> int:
        """Samples that the loop moves at once."""
        return _BLOCK_VALUES // self.channels if self.channels < _BLOCK_CHANNELS else _WIDE_BLOCK


def window_counts(
    schedule: Schedule, costs: Mapping[str, float], sample_cost: float, window_cost: float, windows: int
) -> list[Counts]:
    """Return how often each part of the loop runs for each of ``windows`` windows after the first one.

    Args:
        schedule: the samples.
        costs: the instructions of each part of the loop, by its name.
        sample_cost: instructions of a sample's features, spread evenly.
        window_cost: instructions of the inference and the decision.
        windows: the number of windows.
    """
    loop = _Loop(schedule, costs, sample_cost, window_cost)
    result: list[Counts] = []
    while len(result) <= windows:
        loop.turn(result)
    return result[1:]


class _Loop:
    """The state of the loop: the time in instructions, and the samples at each place."""

    def __init__(
        self, schedule: Schedule, costs: Mapping[str, float], sample_cost: float, window_cost: float
    ) -> None:
        self._schedule, self._costs = schedule, costs
        self._sample_cost, self._window_cost = sample_cost, window_cost
        self._now = self._next_tick = 0.0
        self._arrived = self._taken = self._fed = 0  # samples that the sensor gave, that were read, and fed
        self._end = schedule.window
        self._counts: Counts = {}

    def _spend(self, name: str, count: float = 1.0) -> None:
        self._counts[name] = self._counts.get(name, 0.0) + count
        self._now += self._costs.get(name, 0.0) * count

    def _record_cost(self) -> float:
        """Return the instructions that taking a record costs."""
        costs, s = self._costs, self._schedule
        samples = costs.get("arrived sample", 0.0) + costs.get("arrived value", 0.0) * s.channels
        return costs.get("record", 0.0) + samples * s.record

    def _poll(self) -> None:
        """Take the records that have arrived.

        If taking a record takes longer than the sensor needs for the next one, there is always another one. A device
        loses them; here one of them is taken, and the loop goes on.
        """
        s = self._schedule
        is_too_slow = self._record_cost() * s.rate >= s.record * s.second
        while (self._arrived + s.record) * s.second <= self._now * s.rate:
            self._arrived += s.record
            self._spend("record")
            self._spend("arrived sample", s.record)
            self._spend("arrived value", s.record * s.channels)
            if is_too_slow:
                return

    def turn(self, result: list[Counts]) -> None:
        """Do what the loop does until it sleeps, and sleep."""
        s = self._schedule
        self._poll()
        windows = len(result)
        while self._arrived > self._taken and len(result) == windows:
            count = min(s.block, self._arrived - self._taken)
            self._taken += count
            self._spend("read")
            self._spend("read sample", count)
            self._spend("read value", count * s.channels)
            self._feed(result)
            self._poll()
        if len(result) > windows:
            return  # the loop goes on with the samples that have arrived
        self._spend("sleep")
        # A tick that came while the processor was awake ends its sleep at once.
        self._now = max(self._now, self._next_tick)
        self._next_tick = s.tick * (self._now // s.tick + 1)

    def _feed(self, result: list[Counts]) -> None:
        """Feed the samples that were read, and run the model on each complete window."""
        while self._fed < self._taken:
            count = min(self._taken, self._end) - self._fed
            self._fed += count
            self._spend("feed")
            self._now += count * self._sample_cost
            if self._fed == self._end:
                self._now += self._window_cost
                self._spend("window")
                result.append(self._counts)
                self._counts = {}
                self._end += self._schedule.hop
                self._poll()
