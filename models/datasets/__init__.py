"""Training data, each a function of the requested resolution (None: the native one)."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from arenite.errors import UsageError
from arenite.models.datasets import digits, keywords, mnist, motions, scenes
from arenite.models.datasets.training_data import CLASSIFY, DETECT, RECONSTRUCT, TrainingData
from arenite.models.datasets.user_data import own_data

DATASETS: dict[str, Callable[[int | None, bool], TrainingData]] = {
    "digits": digits.digits,
    "mnist": mnist.mnist,
    "motions": motions.motions,
    "keywords": keywords.keywords,
    "motion_anomalies": motions.motion_anomalies,
    "scenes": scenes.scenes,
}

#: The task of each, known without loading the data.
TASKS = {
    "digits": CLASSIFY,
    "mnist": CLASSIFY,
    "motions": CLASSIFY,
    "keywords": CLASSIFY,
    "motion_anomalies": RECONSTRUCT,
    "scenes": DETECT,
}


def dataset(name: str, resolution: int | None = None, *, progress: bool = True) -> TrainingData:
    """The data called ``name``, or in the file ``name``, which ends in ``.npz``.

    Raises:
        UsageError: there are no such data, or they cannot have the resolution.
        ToolError: the data could not be downloaded or generated.
    """
    if name.endswith(".npz"):
        return own_data(Path(name), resolution)
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, 1)
        raise UsageError(
            f"There are no data called '{name}'.",
            f"Did you mean {near[0]}?" if near else f"Known: {', '.join(DATASETS)}, and files FILE.npz.",
        )
    return DATASETS[name](resolution, progress)
