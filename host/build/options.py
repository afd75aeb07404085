"""Define the options of a firmware build, which all functions and commands that build use."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.firmware.generator.features import Features


@dataclass(frozen=True)
class BuildOptions:
    """The options that determine the generated code.

    Attributes:
        optimise: the optimization goal: ``speed``, ``balanced``, ``ram`` or ``flash``. None: the goal with the fastest
            build that fits the board.
        protocol: the serial protocol of the firmware: ``arenite``, ``mlperf`` or ``mlperf-energy``.
        passes: apply the graph optimizations. They do not change any output.
        stream_input: the model receives its input row by row.
        fast_ram: the number of bytes of the board's first RAM that the arena may take. None: all free bytes.
        mark: the name of the pin that is high during an inference. None: no pin.
        health: the firmware has a health report, and a log that survives a reset.
        cores: the number of cores that compute layers. None: all cores that Arenite supports on the board.
        toolchain: the compiler of an emulated board's firmware: ``gcc`` or ``zig``. None: gcc; a bench takes zig if gcc
            is not installed.
        code_in_ram: the kernels run from RAM instead of flash.
    """

    optimise: str | None = None
    protocol: str = "arenite"
    passes: bool = True
    stream_input: bool = False
    fast_ram: int | None = None
    mark: str | None = None
    health: bool = False
    cores: int | None = None
    toolchain: str | None = None
    code_in_ram: bool = False

    @property
    def features(self) -> Features:
        """The parts of the firmware besides the model and its protocol."""
        return Features(mark=self.mark, health=self.health, cores=self.cores, code_in_ram=self.code_in_ram)


#: The default options.
DEFAULT_BUILD = BuildOptions()
