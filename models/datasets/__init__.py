"""Data sets for training. A data set is a function of the resolution (the side of its pictures in pixels; None for the
resolution of the data) and of whether to show the progress."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from arenite.errors import UsageError
from arenite.models.datasets import digits, keywords, mnist, motions, scenes
from arenite.models.datasets.training_data import CLASSIFY, DETECT, RECONSTRUCT, TrainingData
from arenite.models.datasets.user_data import user_data

DATASETS: dict[str, Callable[[int | None, bool], TrainingData]] = {
    "digits": digits.digits,
    "mnist": mnist.mnist,
    "motions": motions.motions,
    "keywords": keywords.keywords,
    "motion_anomalies": motions.motion_anomalies,
    "scenes": scenes.scenes,
}

#: The task of each data set, so that it is known without loading the data.
TASKS = {
    "digits": CLASSIFY,
    "mnist": CLASSIFY,
    "motions": CLASSIFY,
    "keywords": CLASSIFY,
    "motion_anomalies": RECONSTRUCT,
    "scenes": DETECT,
}


def dataset(name: str, resolution: int | None = None, *, progress: bool = True) -> TrainingData:
    """Return the data set ``name``, or the data in the file ``name`` if it ends with ``.npz``.

    Raises:
        UsageError: There is no such data set, or it cannot have this resolution.
        ToolError: The data could not be downloaded or generated.
    """
    if name.endswith(".npz"):
        return user_data(Path(name), resolution)
    if name not in DATASETS:
        close_names = difflib.get_close_matches(name, DATASETS, 1)
        raise UsageError(
            f"There is no data set called '{name}'.",
            f"Did you mean {close_names[0]}?"
            if close_names
            else f"Give one of {', '.join(DATASETS)}, or a file FILE.npz.",
        )
    return DATASETS[name](resolution, progress)
