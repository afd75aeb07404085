"""Measure the cycles of the inferences of a bench run on a board whose core is simulated from its RTL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.errors import DeviceError, UsageError
from arenite.host.bench.devices.journal import DeviceAnswer
from arenite.host.bench.devices.measure import Progress
from arenite.host.build.fit import needs
from arenite.host.build.options import BuildOptions
from arenite.host.build.project import Project
from arenite.host.emulator.layer_code import layer_code, segment_layers
from arenite.host.emulator.rtl.cores import RtlCore, rtl_core
from arenite.host.emulator.rtl.counter_log import (
    LayerCycles,
    executed_instructions,
    layer_cycles,
    layer_order,
)
from arenite.host.emulator.rtl.machine import WaitStates, start_rtl
from arenite.host.emulator.rtl.simulator import simulator, verilator_version
from arenite.host.link.client import TimeLimits
from arenite.host.link.transport import Transport
from arenite.profiles.boards import Board

#: The port of a simulated board loses no byte, and an inference may take hours.
LIMITS = TimeLimits(resend_s=600.0, infer_s=1e9)
#: Random inputs of a bench on a simulated board.
DEFAULT_SAMPLES = 1
#: The steps of the bar of progress.
_STEPS = 1000


def require_supported(board: Board, build: BuildOptions, cycles: bool | None, other: dict[str, Any]) -> None:
    """Raise ``UsageError`` for an option of a bench that a simulated board does not support. ``other`` has the values
    of further options that must not be given, by the name of the option."""
    refused = {
        **other,
        f"--protocol {build.protocol}": build.protocol != "arenite",
        "--stream-input": build.stream_input,
        "--health": build.health,
        "--mark": build.mark,
    }
    for option, value in refused.items():
        if value:
            raise UsageError(
                f"{board.name} does not support {option}: its cycles are measured between the layers of one inference.",
                f"Remove {option}, or use --board {board.firmware_name}.",
            )
    if cycles:
        raise UsageError(
            f"{board.name} measures cycles, so --cycles has nothing to estimate.",
            f"Remove --cycles, or use --board {board.firmware_name}.",
        )


@dataclass(frozen=True)
class MeasuredCycles:
    """The cycles of each inference of a run, and the median cycles of each layer that has code."""

    core: RtlCore
    waits: WaitStates
    verilator: str
    inferences: tuple[int, ...]
    layers: tuple[int, ...]

    def figure(self) -> dict[str, Any]:
        """Return the object "cycles" of a bench result."""
        return {
            "p50": sorted(self.inferences)[(len(self.inferences) - 1) // 2],
            "kind": "measured",
            "source": f"{self.core.title}, simulated from its RTL; wait states: flash {self.waits.flash}, "
            f"RAM {self.waits.ram}",
        }

    def facts(self) -> dict[str, Any]:
        """Return the object "rtl" in "build" of a bench result."""
        return {
            "core": self.core.name,
            "package": f"{self.core.package.name} {self.core.package.version}",
            "package_sha256": self.core.package.sha256,
            "simulator": f"Verilator {self.verilator}",
            "flash_wait": self.waits.flash,
            "ram_wait": self.waits.ram,
        }


class RtlSimulation:
    """The simulations of one bench run. ``folder`` holds their logs."""

    def __init__(
        self, project: Project, elf: Path, folder: Path, waits: WaitStates, samples: int, progress: Progress
    ) -> None:
        board = project.board
        assert board.rtl is not None
        self._board, self._elf, self._folder, self._waits = board, elf, folder, waits
        self._core = rtl_core(board.rtl.core)
        self._program = simulator(self._core, progress)
        code = layer_code(elf, segment_layers(project.generated))
        self._order, self._layers = layer_order(code), code.count
        predicted = needs(project.generated, board, project.optimise).instructions
        self._expected = max(predicted * samples, 1.0)
        self._progress = progress
        self._logs: list[Path] = []

    @contextmanager
    def open(self) -> Iterator[Transport]:
        """Start a simulation, and yield the transport to it."""
        log = self._folder / f"simulation-{len(self._logs)}.log"
        self._logs.append(log)
        with start_rtl(self._program, self._board, self._elf, log, self._waits, self._report()) as machine:
            yield machine.transport

    def _report(self) -> Callable[[Path], None]:
        """Return a function that reports the share of the predicted instructions that was simulated. The prediction is
        an estimate, so the last step is reported only at the end."""

        def report(_: Path) -> None:
            done = sum(executed_instructions(log, self._order) for log in self._logs if log.is_file())
            self._progress("simulate", min(int(_STEPS * done / self._expected), _STEPS - 1), _STEPS)

        return report

    def measured(self, answers: Collection[DeviceAnswer]) -> MeasuredCycles:
        """Return the cycles of the inferences that gave ``answers``.

        Raises:
            ToolError: a log is not complete.
            DeviceError: the log has other instructions than the firmware counted.
        """
        self._progress("simulate", _STEPS, _STEPS)
        runs: list[LayerCycles] = []
        for log in self._logs:
            runs += layer_cycles(log, self._order, self._layers)
        counted = {answer.layers for answer in answers}
        if any(run.instructions not in counted for run in runs):
            raise DeviceError(
                "The simulator and the firmware counted different instructions.",
                "This is a bug. Please report it with the model.",
            )
        layers = np.median([run.cycles for run in runs], axis=0)
        return MeasuredCycles(
            self._core,
            self._waits,
            verilator_version(),
            tuple(sum(run.cycles) for run in runs),
            tuple(round(float(c)) for c in layers),
        )
