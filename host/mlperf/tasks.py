"""Define the tasks of MLPerf Tiny, and the requirements of its rules.

Source: github.com/mlcommons/tiny, benchmark/MLPerfTiny_Rules.adoc (version 1.2) and
benchmark/evaluation/datasets.
"""

from __future__ import annotations

from dataclasses import dataclass

from arenite.errors import UsageError


@dataclass(frozen=True)
class Task:
    """A task of MLPerf Tiny.

    Attributes:
        name: the task's name.
        benchmark: the name of the folder for its results.
        metric: "top-1" or "auc".
        floor: the minimal quality in the closed division; None if the rules do not score single windows.
        samples: the size of the official set.
        elements: the numbers of inputs and outputs of the reference model.
    """

    name: str
    benchmark: str
    metric: str
    floor: float | None
    samples: int | None
    elements: tuple[int, int]


TASKS = {
    task.name: task
    for task in (
        Task("kws01", "kws", "top-1", 0.90, 1000, (490, 12)),
        Task("vww01", "vww", "top-1", 0.80, 1000, (96 * 96 * 3, 2)),
        Task("ic01", "ic", "top-1", 0.85, 200, (32 * 32 * 3, 10)),
        Task("ad01", "ad", "auc", 0.85, 248, (640, 640)),
        Task("sww01", "sww", "top-1", None, None, (1200, 3)),
    )
}
MODES = ("accuracy", "performance", "energy")
#: The requirements of the performance and energy modes: the number of windows (the result is their median), and the
#: minimum seconds and inferences of each window.
WINDOWS, WINDOW_S, WINDOW_INFERENCES = 5, 10.0, 10


def task_named(name: str) -> Task:
    """Return the task with this name. Raises ``UsageError`` if there is none."""
    if name not in TASKS:
        raise UsageError(f"MLPerf Tiny has no task '{name}'.", f"The tasks are {', '.join(TASKS)}.")
    return TASKS[name]
