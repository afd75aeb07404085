"""Train one of the project's own architectures in a separate environment, and measure its score."""

from __future__ import annotations

import json
import tempfile
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

SUBPROCESSES = Path(__file__).parent / "subprocesses"

Progress = Callable[[str, int, int], None]
"""Called with the current activity, its finished steps, and its total steps."""


@dataclass(frozen=True)
class TrainingOptions:
    """The training to run: an architecture, its size, the data and the settings. ``resolution`` None: that of the data;
    settings that are None: those that suit the data."""

    architecture: str
    data: str
    width: float = 1.0
    resolution: int | None = None
    seed: int = 0
    epochs: int | None = None
    batch: int | None = None
    rate: float | None = None

    def settings(self, data: TrainingData) -> TrainingSettings:
        given = {k: v for k in ("epochs", "batch", "rate") if (v := getattr(self, k)) is not None}
        return replace(data.settings, **given)

    @property
    def command(self) -> str:
        """The command line that repeats the training, without outputs."""
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
    """A trained network and its score on the test samples, which is measured. ``seconds`` is the training alone."""

    order: TrainingOptions
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
            "command": self.order.command,
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
            "settings": asdict(self.settings) | {"seed": self.order.seed},
            "score": self.score.to_json() | {"kind": "measured", "precision": "float32"},
            "seconds": round(self.seconds, 1),
            "versions": self.versions,
            "outputs": [str(p) for p in self.outputs],
        }


def with_options(order: TrainingOptions, **given: Any) -> TrainingOptions:
    """``order`` with the fields that are given and not None."""
    wanted = {k: v for k, v in given.items() if v is not None}
    if wanted.get("data", order.data) != order.data:  # settings for one kind of data do not suit another
        order = replace(order, resolution=None, epochs=None, batch=None, rate=None)
    return replace(order, **wanted)


def train(
    order: TrainingOptions,
    outputs: Sequence[Path],
    *,
    data: TrainingData | None = None,
    progress: Progress | None = None,
) -> TrainingResult:
    """Run the training ``order`` and write the model to each of ``outputs``, whose endings give the format.

    ``data`` are used in place of ``order.data`` when given. ``progress`` is called while training.

    Raises:
        UsageError: an unknown name, sizes that do not go together, an output that cannot be written.
        ToolError: data or framework could not be downloaded, or the training failed.
    """
    check_outputs(outputs)
    shown = progress is not None
    chosen = data or dataset(order.data, order.resolution, progress=shown)
    net = network(order.architecture, chosen.shape, len(chosen.labels), order.width)
    check_task(net, chosen)
    settings = order.settings(chosen)
    _check_settings(settings)
    with tempfile.TemporaryDirectory(prefix="arenite-train-") as temporary:
        folder = Path(temporary)
        names = _names(outputs)
        arrays = {"x": chosen.x_train, "x_test": chosen.x_test, **targets(net, chosen)}
        np.savez(folder / "data.npz", **arrays)  # type: ignore[arg-type]
        job = {
            "network": net.to_json(),
            "task": chosen.task,
            "seed": order.seed,
            "shift": chosen.shift,
            "threads": _processors(),
            "outputs": ["model.keras", *{n for n in names if n.endswith(".h5") or "." not in n}],
            **asdict(settings),
        }
        (folder / "job.json").write_text(json.dumps(job), "utf-8")
        _run(folder, progress)
        result = json.loads((folder / "result.json").read_text("utf-8"))
        with np.load(folder / "predictions.npz") as archive:
            predictions = [archive[f"p{i}"] for i in range(len(archive.files))]
        _export(folder, names, chosen, shown)
        for name, target in zip(names, outputs, strict=True):
            write_output(folder / name, target)
    versions = {k: result[k] for k in ("keras", "tensorflow")}
    return TrainingResult(
        order,
        net,
        chosen,
        settings,
        training_score(net, chosen, predictions),
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

    env.run(SUBPROCESSES / "train_keras.py", str(folder), on_line=line)


def _export(folder: Path, names: Sequence[str], data: TrainingData, progress: bool) -> None:
    """Write the formats that Keras does not write."""
    if "model.tflite" in names:
        from arenite.converters.importers.imported_model import ImportOptions
        from arenite.converters.importers.sources import import_source

        samples = [[x[None]] for x in data.x_test[:8]]
        options = ImportOptions(progress=progress)
        imported = import_source(str(folder / "model.keras"), inputs=samples, options=options)
        (folder / "model.tflite").write_bytes(imported.flatbuffer)
    if "model.pt2" in names:
        env = environment("torch", progress=progress)
        env.run(SUBPROCESSES / "export_torch.py", str(folder))


def _names(outputs: Sequence[Path]) -> list[str]:
    """The files below the job's folder, one per output: ``model`` and the ending, ``model_saved`` for a SavedModel."""
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
                "Leave it out for a value that suits the data.",
            )


def _processors() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
