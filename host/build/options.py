"""The options of a firmware build, shared by all functions and commands that build."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.firmware.generator.features import Features


@dataclass(frozen=True)
class BuildOptions:
    """The options that determine the generated code.

    Attributes:
        optimise: the goal (``speed``, ``balanced``, ``ram`` or ``flash``); None: the fastest one that fits the board.
        protocol: the serial protocol of the firmware: ``arenite``, ``mlperf`` or ``mlperf-energy``.
        passes: apply the graph optimizations; none of them changes an output.
        stream_input: the model takes its input row by row.
        fast_ram: bytes of the board's first RAM that the arena may take; None: all free bytes.
        mark: the pin that is high while an inference computes; None: no pin.
        health: the firmware reports its health and keeps a log over resets.
        cores: number of cores that compute layers; None: all cores for which the board's profile has a port.
    """

    optimise: str | None = None
    protocol: str = "arenite"
    passes: bool = True
    stream_input: bool = False
    fast_ram: int | None = None
    mark: str | None = None
    health: bool = False
    cores: int | None = None

    @property
    def features(self) -> Features:
        """The parts of the firmware besides the model and its protocol."""
        return Features(mark=self.mark, health=self.health, cores=self.cores)


#: The default options.
DEFAULT_BUILD = BuildOptions()
