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
    the task ad01). ``results`` is the folder for the results of all runs.
    """

    task: Task
    mode: str
    samples: Samples
    recordings: np.ndarray | None = None
    optimise: str | None = None
    port: str | None = None
    resume: bool = True
    results: Path = Path("results")
    journals: Path | None = None  # None: a folder in the cache
    meter: Meter | None = None  # for the energy mode; not open yet
    mark: str | None = (
        None  # the pin that signals timestamps in the energy mode; None: use the ordinary monitor with its lap times
    )
    mark_input: int | None = (
        None  # the digital input of the meter that is connected to the pin; None: detect it
    )
    window_s: float = (
        WINDOW_S  # seconds per window in the energy mode; shorter windows are for tests and not valid
    )

    def folder(self, board: Board) -> Path:
        """Return the folder for the results of this run."""
        return self.results / board.name / self.task.benchmark / self.mode
