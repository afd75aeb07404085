"""The training targets of each output of a network, from the labels of the data."""

from __future__ import annotations

import numpy as np

from arenite.errors import UsageError
from arenite.models.architectures.network import Network
from arenite.models.datasets.training_data import CLASSIFY, DETECT, RECONSTRUCT, TrainingData

#: Architectures for tasks other than classification.
_TASKS = {"autoencoder": RECONSTRUCT, "detector": DETECT}


def task_of(architecture: str) -> str:
    """The task that an architecture is for."""
    return _TASKS.get(architecture, CLASSIFY)


def check_task(network: Network, data: TrainingData) -> None:
    """Raise ``UsageError`` when the data are for a different task than the network."""
    wanted = task_of(network.architecture)
    if data.task != wanted:
        raise UsageError(
            f"'{network.architecture}' learns to {wanted}, but the data '{data.name}' are for the task {data.task}.",
            "`arenite train --list` shows which go together.",
        )


def targets(network: Network, data: TrainingData) -> dict[str, np.ndarray]:
    """One array per output, named ``y0``, ``y1``, ..."""
    if data.task == CLASSIFY:
        return {"y0": data.y_train}
    if data.task == RECONSTRUCT:
        return {"y0": data.x_train.reshape(len(data.x_train), -1)}
    from arenite.models.training.detection import encoded

    boxes, scores = encoded(network, data.y_train)
    return {"y0": boxes, "y1": scores}
