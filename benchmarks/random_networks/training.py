"""Train the random networks in the environments of their frameworks, and write the samples for their conversion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.importers.environments import environment
from benchmarks.random_networks.architectures import Network
from benchmarks.random_networks.tasks import TaskData, make_task

_CHILDREN = Path(__file__).parent / "children"
_ENVIRONMENTS = {"keras": "tensorflow", "torch": "torch"}
_SUFFIXES = {"keras": ".keras", "torch": ".pt2"}

#: The number of samples of each part, and the seed of its random numbers.
_PARTS = {"train": (3000, 1), "calibration": (200, 2), "validation": (500, 3), "test": (1000, 4)}


def source_of(network: Network, folder: Path) -> Path:
    """Return the path of the trained model of ``network``."""
    return folder / f"{network.name}{_SUFFIXES[network.framework]}"


def samples_of(network: Network, part: str, folder: Path) -> Path:
    """Return the file for ``arenite convert`` with the samples ``part``: "calibration", "validation" or "test"."""
    return folder / f"{network.task}.{part}.npz"


def outputs_of(network: Network, folder: Path) -> list[np.ndarray]:
    """Return the outputs that the framework computed for the test samples, float32 [samples, ...] for each output.
    Class maps of PyTorch are NHWC, as in the converted model."""
    with np.load(folder / f"{network.name}.outputs.npz") as file:
        outputs = [file[f"y{k}"] for k in range(len(network.outputs))]
    return [y.transpose(0, 2, 3, 1) if network.framework == "torch" and y.ndim == 4 else y for y in outputs]


def train_networks(networks: Sequence[Network], folder: Path) -> None:
    """Train all ``networks`` whose model is not in ``folder`` yet, one process per framework after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    for task in sorted({network.task for network in networks}):
        for part, (count, seed) in _PARTS.items():
            _write(folder / f"{task}.{part}.npz", make_task(task, count, seed), for_training=part == "train")
    for framework, name in _ENVIRONMENTS.items():
        missing = [
            n
            for n in networks
            if n.framework == framework and not (folder / f"{n.name}.trained.json").exists()
        ]
        if missing:
            jobs = folder / f"{framework}.json"
            jobs.write_text(json.dumps([n.to_json() for n in missing]))
            script = _CHILDREN / f"{framework}_networks.py"
            environment(name).run(script, str(jobs), str(folder), str(folder), on_line=print)


def _write(path: Path, data: TaskData, *, for_training: bool) -> None:
    """Write samples. A single input is the array ``x0`` in files for training, and ``x`` in files for Arenite. Files
    for Arenite have targets of the first output only: Arenite compares each further output with the float model's."""
    single = len(data.x) == 1 and not for_training
    arrays: dict[str, Any] = {"x" if single else f"x{i}": x for i, x in enumerate(data.x)}
    if for_training:
        arrays |= {f"y{k}": y for k, y in enumerate(data.y)}
    else:
        arrays["y"] = data.y[0]
    np.savez(path, **arrays)
