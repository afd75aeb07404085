"""Where the agent of a gateway gets the counts that firmware has made."""

from __future__ import annotations

from typing import Protocol

from arenite.host.fleet.observations import Observations


class ObservationSource(Protocol):
    """Counts that no heartbeat has yet. The agent calls both functions for each heartbeat, one after the other."""

    def take(self, epoch: int, sequence: int, observations: Observations) -> int:
        """Add the counts to ``observations``, and return the number of inferences. They will be in the event with the
        number ``sequence`` of ``epoch``, if nothing interrupts the program."""
        ...

    def taken(self) -> None:
        """The event is stored."""
        ...
