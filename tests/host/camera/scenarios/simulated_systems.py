"""Simulated systems under test with known service times, on a virtual clock, for tests of the MLPerf scenarios."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class VirtualClock:
    """A clock in nanoseconds that only advances when a test or a simulated system advances it."""

    def __init__(self) -> None:
        self.time = 10**12

    def now(self) -> int:
        return self.time

    def sleep_until(self, at: int) -> None:
        self.time = max(self.time, at)


class SimulatedSystem:
    """Serves samples one after the other. Sample ``number`` takes ``service_ns(number)`` nanoseconds of the virtual
    clock."""

    def __init__(self, clock: VirtualClock, service_ns: Callable[[int], int], samples: int = 100) -> None:
        self.clock, self.service_ns, self.samples = clock, service_ns, samples
        self.queries: list[list[int]] = []
        self.count = 0

    def serve(self, samples: Sequence[int]) -> None:
        if len(samples) < 1000:  # the single query of the offline scenario is too long to be recorded
            self.queries.append(list(samples))
        for _ in samples:
            self.clock.time += self.service_ns(self.count)
            self.count += 1

    def between_queries(self) -> None:
        pass
