"""Define the configuration of an MLPerf Tiny run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite.host.bench.samples import Samples
from arenite.host.energy.meters.base import Meter
from arenite.host.mlperf.tasks import WINDOW_S, Task
from arenite.profiles.boards import Board


@dataclass(frozen=True)
class MlperfConfig:
    """The configuration of one MLPerf Tiny run.

    ``recordings`` has, for each sample, the number or name of the recording of which the sample is a window (only in
    the task ad01). ``results`` is the folder for the results of all runs, and ``journals`` the folder for the answers
    so far, with which an interrupted run continues if ``resume`` is true (None: a folder in the cache). ``mark`` is the
    pin that the firmware sets low for a moment at the start and at the end of the measured time in the energy mode. If
    it is None, the firmware sends these times over the serial port.
    """

    task: Task
    mode: str
    samples: Samples
    recordings: np.ndarray | None = None
    optimise: str | None = None
    port: str | None = None
    resume: bool = True
    results: Path = Path("results")
    journals: Path | None = None
    meter: Meter | None = None  # for the energy mode; not open yet
    mark: str | None = None
    mark_input: int | None = (
        None  # the digital input of the meter that is connected to the pin; None: detect it
    )
    window_s: float = (
        WINDOW_S  # seconds per window in the energy mode; shorter windows are for tests and not valid
    )

    def folder(self, board: Board) -> Path:
        """Return the folder for the results of this run."""
        return self.results / board.name / self.task.benchmark / self.mode
