"""Convert the labels of training data to targets for the outputs of a network."""

from __future__ import annotations

import numpy as np

from arenite.errors import UsageError
from arenite.models.architectures.network import Network
from arenite.models.datasets.training_data import CLASSIFY, DETECT, RECONSTRUCT, TrainingData

#: The tasks of architectures that are not for classification.
_TASKS = {"autoencoder": RECONSTRUCT, "detector": DETECT}


def task_of(architecture: str) -> str:
    """Return the task of an architecture."""
    return _TASKS.get(architecture, CLASSIFY)


def check_task(network: Network, data: TrainingData) -> None:
    """Raise ``UsageError`` if ``data`` and ``network`` have different tasks."""
    expected_task = task_of(network.architecture)
    if data.task != expected_task:
        raise UsageError(
            f"'{network.architecture}' learns to {expected_task}, but the data '{data.name}' are for the task "
            f"{data.task}.",
            "`arenite train --list` shows the data of each architecture.",
        )


def targets(network: Network, data: TrainingData) -> dict[str, np.ndarray]:
    """Return the targets of the training samples: one array per output of the network, named ``y0``, ``y1`` and so
    on."""
    if data.task == CLASSIFY:
        return {"y0": data.y_train}
    if data.task == RECONSTRUCT:
        return {"y0": data.x_train.reshape(len(data.x_train), -1)}
    from arenite.models.training.detection import encode_targets

    boxes, scores = encode_targets(network, data.y_train)
    return {"y0": boxes, "y1": scores}
