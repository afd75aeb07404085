"""Train one of the built-in architectures in the environment of TensorFlow, and measure its score."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.importers.environments import environment
from arenite.errors import UsageError
from arenite.models.architectures import network
from arenite.models.architectures.network import Network
from arenite.models.datasets import dataset
from arenite.models.datasets.training_data import TrainingData, TrainingSettings
from arenite.models.training.outputs import check_outputs, write_output
from arenite.models.training.score import TrainingScore, training_score
from arenite.models.training.targets import check_task, targets
from arenite.processes import temporary_folder

SUBPROCESSES = Path(__file__).parent / "subprocesses"

Progress = Callable[[str, int, int], None]
"""Called with the current activity, its finished steps, and its total steps."""


@dataclass(frozen=True)
class TrainingOptions:
    """The training to run: an architecture, its size, the data and the settings. If ``resolution`` or a setting is
    None, the default of the data is used."""

    architecture: str
    data: str
    width: float = 1.0
    resolution: int | None = None
    seed: int = 0
    epochs: int | None = None
    batch: int | None = None
    rate: float | None = None

    def settings(self, data: TrainingData) -> TrainingSettings:
        """Return the settings of the training with ``data``."""
        overrides = {k: v for k in ("epochs", "batch", "rate") if (v := getattr(self, k)) is not None}
        return replace(data.settings, **overrides)

    @property
    def command(self) -> str:
        """The command line that repeats the training, without the options for output files."""
        parts = [f"arenite train {self.architecture} --data {self.data} --width {self.width:g}"]
        if self.resolution is not None:
            parts.append(f"--resolution {self.resolution}")
        for name in ("epochs", "batch", "rate"):
            if (value := getattr(self, name)) is not None:
                parts.append(f"--{name} {value:g}")
        if self.seed:
            parts.append(f"--seed {self.seed}")
        return " ".join(parts)


@dataclass(frozen=True)
class TrainingResult:
    """A trained network and its measured score on the test samples.

    ``parameters`` is the number of weights, ``seconds`` the time of the training without other steps, ``versions`` the
    versions of the framework, and ``outputs`` the files that were written.
    """

    options: TrainingOptions
    network: Network
    data: TrainingData
    settings: TrainingSettings
    score: TrainingScore
    parameters: int
    seconds: float
    versions: dict[str, str]
    outputs: tuple[Path, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "arenite.train/1",
            "command": self.options.command,
            "architecture": self.network.architecture,
            "width": self.network.width,
            "input_shape": list(self.network.input_shape),
            "classes": self.network.classes,
            "parameters": self.parameters,
            "data": {
                "name": self.data.name,
                "sha256": self.data.sha256,
                "train": len(self.data.x_train),
                "test": len(self.data.x_test),
                "labels": list(self.data.labels),
                "preprocessing": spec.to_json() if (spec := self.data.preprocessing) else None,
                "scaling": dict(self.data.scaling),
            },
            "settings": asdict(self.settings) | {"seed": self.options.seed},
            "score": self.score.to_json() | {"kind": "measured", "precision": "float32"},
            "seconds": round(self.seconds, 1),
            "versions": self.versions,
            "outputs": [str(p) for p in self.outputs],
        }


def override_options(options: TrainingOptions, **overrides: Any) -> TrainingOptions:
    """Return ``options`` with the values of ``overrides`` that are not None. With other data, resolution and settings
    are set to None first."""
    changed = {k: v for k, v in overrides.items() if v is not None}
    # Settings for one data set do not suit another data set.
    if changed.get("data", options.data) != options.data:
        options = replace(options, resolution=None, epochs=None, batch=None, rate=None)
    return replace(options, **changed)


def train(
    options: TrainingOptions,
    outputs: Sequence[Path],
    *,
    data: TrainingData | None = None,
    progress: Progress | None = None,
) -> TrainingResult:
    """Run a training, write the model to each path in ``outputs``, and return the result. The suffix of a path
    determines the format of the file.

    ``data`` replaces ``options.data`` if it is not None. ``progress`` is called during the training.

    Raises:
        UsageError: A name is unknown, network and data do not fit together, or an output cannot be written.
        ToolError: The data or the framework could not be downloaded, or the training failed.
    """
    check_outputs(outputs)
    show_progress = progress is not None
    training_data = data or dataset(options.data, options.resolution, progress=show_progress)
    net = network(options.architecture, training_data.shape, len(training_data.labels), options.width)
    check_task(net, training_data)
    settings = options.settings(training_data)
    _check_settings(settings)
    with temporary_folder("arenite-train-") as folder:
        names = _names(outputs)
        arrays = {"x": training_data.x_train, "x_test": training_data.x_test, **targets(net, training_data)}
        np.savez(folder / "data.npz", **arrays)  # type: ignore[arg-type]
        job = {
            "network": net.to_json(),
            "task": training_data.task,
            "seed": options.seed,
            "shift": training_data.shift,
            "threads": _processors(),
            "outputs": ["model.keras", *{n for n in names if n.endswith(".h5") or "." not in n}],
            **asdict(settings),
        }
        (folder / "job.json").write_text(json.dumps(job), "utf-8")
        _run(folder, progress)
        result = json.loads((folder / "result.json").read_text("utf-8"))
        with np.load(folder / "predictions.npz") as archive:
            predictions = [archive[f"p{i}"] for i in range(len(archive.files))]
        _export(folder, names, training_data, show_progress)
        for name, target in zip(names, outputs, strict=True):
            write_output(folder / name, target)
    versions = {k: result[k] for k in ("keras", "tensorflow")}
    return TrainingResult(
        options,
        net,
        training_data,
        settings,
        training_score(net, training_data, predictions),
        result["parameters"],
        result["seconds"],
        versions,
        tuple(outputs),
    )


def _run(folder: Path, progress: Progress | None) -> None:
    env = environment("tensorflow", progress=progress is not None)

    def line(text: str) -> None:
        if progress is not None:
            report = json.loads(text)
            progress(f"training, loss {report['loss']:.3f}", report["done"], report["total"])

    env.run(SUBPROCESSES / "train_keras.py", str(folder), on_line=line, writable=folder)


def _export(folder: Path, names: Sequence[str], data: TrainingData, progress: bool) -> None:
    """Write the files among ``names`` whose formats Keras does not write (``model.tflite`` and ``model.pt2``) to
    ``folder``."""
    if "model.tflite" in names:
        from arenite.converters.importers.imported_model import ImportOptions
        from arenite.converters.importers.sources import import_source

        samples = [[x[None]] for x in data.x_test[:8]]
        options = ImportOptions(progress=progress)
        imported = import_source(str(folder / "model.keras"), inputs=samples, options=options)
        (folder / "model.tflite").write_bytes(imported.flatbuffer)
    if "model.pt2" in names:
        env = environment("torch", progress=progress)
        env.run(SUBPROCESSES / "export_torch.py", str(folder), writable=folder)


def _names(outputs: Sequence[Path]) -> list[str]:
    """Return the name of each output in the folder of the training: ``model`` with the suffix of the output, or
    ``model_saved`` for a SavedModel folder."""
    return ["model" + p.suffix.lower() if p.suffix else "model_saved" for p in outputs]


def _check_settings(settings: TrainingSettings) -> None:
    for name, value, minimum, maximum in (
        ("epochs", settings.epochs, 1, 10_000),
        ("batch", settings.batch, 1, 65_536),
        ("rate", settings.rate, 1e-7, 1.0),
    ):
        if not minimum <= value <= maximum:
            raise UsageError(
                f"--{name} {value:g} is outside {minimum:g} to {maximum:g}.",
                f"Leave out --{name} to use the default of the data.",
            )


def _processors() -> int:
    """Return the number of processors that this process may use."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
