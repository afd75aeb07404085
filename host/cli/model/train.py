"""``arenite train``: train a small network of one of the built-in architectures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from arenite.errors import UsageError
from arenite.host.cli.progress import Steps
from arenite.host.report.console import note, print_json, show, table

if TYPE_CHECKING:
    from arenite.models.training.training import TrainingOptions, TrainingResult


@click.command()
@click.argument("name", required=False)
@click.option(
    "--data",
    metavar="DATA",
    help=(
        "Training data: a name shown by --list, or an .npz file with the arrays x and y. Required if NAME is "
        "an architecture."
    ),
)
@click.option(
    "--width",
    type=float,
    metavar="FACTOR",
    help=(
        "Factor for the number of channels; 1 is the full network. Default: the width of the recorded "
        "training, or 1."
    ),
)
@click.option(
    "--resolution",
    type=int,
    metavar="PIXELS",
    help=(
        "Height and width of the input in pixels. Default: the resolution of the recorded training, or the size of "
        "the pictures in the data."
    ),
)
@click.option(
    "--epochs",
    type=int,
    help="Number of epochs. Default: that of the recorded training, or a number that suits the data.",
)
@click.option(
    "--batch",
    type=int,
    help="Number of samples per batch. Default: that of the recorded training, or a number that suits the data.",
)
@click.option(
    "--rate",
    type=float,
    help=(
        "Largest learning rate of the schedule. Default: that of the recorded training, or a rate that suits the data."
    ),
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Random seed of the weights, the sample order and the augmentation.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Model file to write: .keras, .h5, .tflite, .pt2, or a SavedModel folder. May be given several times.",
)
@click.option(
    "--save-data",
    type=click.Path(path_type=Path),
    metavar="DIRECTORY",
    help=(
        "Folder to write calibration.npz, test.npz, preprocessing.json, postprocessing.json and labels.txt "
        "to, for `arenite convert`."
    ),
)
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="Show the architectures, data and recorded trainings, and do nothing else.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def train(
    name: str | None,
    data: str | None,
    width: float | None,
    resolution: int | None,
    epochs: int | None,
    batch: int | None,
    rate: float | None,
    seed: int,
    outputs: tuple[Path, ...],
    save_data: Path | None,
    listing: bool,
    as_json: bool,
) -> int:
    """Train a small network, write it with -o, and report its score on the test samples. Give -o, --save-data or both.

    NAME is an architecture, such as resnet8, or a recorded training, such as mnist_resnet8. A recorded training is a
    training whose data, options and score Arenite has recorded. Options on the command line replace the recorded
    options. With other data, the recorded resolution, epochs, batch and rate are not used. --list shows the names.

    Training takes a few minutes on two cores. The same package versions, seed and number of cores give the same model.
    """
    from arenite.models.training.exported_data import save_data as write_data
    from arenite.models.training.training import train as run

    if listing:
        return _list(as_json)
    if name is None:
        raise UsageError(
            "The NAME of an architecture or recorded training is missing.",
            "`arenite train --list` shows them.",
        )
    if not outputs and save_data is None:
        raise UsageError("The output file is missing.", "Give one with -o, for example -o model.keras.")
    options = _training_options(name, data, width, resolution, epochs, batch, rate, seed)
    with Steps("") as progress:
        training = run(options, outputs, progress=progress)
    saved = write_data(training.network, training.data, save_data) if save_data is not None else ()
    if as_json:
        print_json(training.to_json() | {"saved_data": [str(path) for path in saved]})
    else:
        _show(training, saved)
    return 0


def _training_options(
    name: str,
    data: str | None,
    width: float | None,
    resolution: int | None,
    epochs: int | None,
    batch: int | None,
    rate: float | None,
    seed: int,
) -> TrainingOptions:
    """Return the options of the training ``name``, which is a recorded training or an architecture. Options that are
    not None replace recorded options."""
    from arenite.models.architectures import ARCHITECTURES
    from arenite.models.training.training import TrainingOptions, override_options
    from arenite.models.training.training_records import training_records

    records = training_records()
    if name in records:
        options = records[name].options
    elif name in ARCHITECTURES:
        if data is None:
            raise UsageError(
                f"Architecture '{name}' needs training data.",
                "Add --data; `arenite train --list` shows the data sets.",
            )
        options = TrainingOptions(name, data)
    else:
        raise UsageError(
            f"There is no architecture and no recorded training '{name}'.",
            f"Give one of {', '.join((*ARCHITECTURES, *records))}.",
        )
    return override_options(
        options,
        data=data,
        width=width,
        resolution=resolution,
        seed=seed or None,
        epochs=epochs,
        batch=batch,
        rate=rate,
    )


def _show(training: TrainingResult, saved: tuple[Path, ...]) -> None:
    score = training.score
    parts = [f"{label} {value:.1%}" for label, value in score.parts.items()]
    show(
        f"{training.network.name}: {score.metric} {score.value:.2%} on {score.samples:,} test samples of "
        f"'{training.data.name}' (float32, measured), {training.parameters:,} parameters, {training.seconds:.0f} s"
    )
    if parts:
        show("  " + ", ".join(parts))
    for path in (*training.outputs, *saved):
        show(str(path))
    note(f"To repeat: {training.options.command}")


def _list(as_json: bool) -> int:
    from arenite.models.architectures import ARCHITECTURES
    from arenite.models.datasets import TASKS
    from arenite.models.training.targets import task_of
    from arenite.models.training.training_records import training_records

    if as_json:
        print_json(
            {
                "schema": "arenite.trainings/1",
                "architectures": {name: task_of(name) for name in ARCHITECTURES},
                "data": dict(TASKS),
                "recorded": [r.to_json() for r in training_records().values()],
            }
        )
        return 0
    rows = [(n, task_of(n), ", ".join(d for d, t in TASKS.items() if t == task_of(n))) for n in ARCHITECTURES]
    show(table("Architectures", ("name", "task", "with --data"), rows))
    recorded = [
        (r.name, r.options.command, f"{r.value:.2%} {r.metric}", f"{r.seconds:.0f}")
        for r in training_records().values()
    ]
    show(table("Recorded trainings", ("name", "command", "on the test samples", "seconds"), recorded))
    return 0
