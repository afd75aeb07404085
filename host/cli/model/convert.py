"""``arenite convert``: convert a trained model to an image with a planned arena."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.cli.options import no_passes_option
from arenite.host.cli.progress import Stages
from arenite.host.cli.reproduce import command_line
from arenite.host.report.console import note, print_json, show

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("source")
@click.option(
    "-o", "--output", type=FILE, help="Image to write. Default: SOURCE with the suffix .image.tflite."
)
@click.option(
    "--calibration",
    type=FILE,
    help="Real inputs that set the quantization ranges: an .npz file with x (and y), or a folder. random: random "
    "numbers, which show size and fit but give useless outputs.",
)
@click.option(
    "--calibration-samples",
    type=click.IntRange(1),
    help="Number of --calibration samples to calibrate with. The remaining ones are used for the score.",
)
@click.option("--test", type=FILE, help="Labelled samples to score the source and the image with.")
@click.option(
    "--metric",
    help="Metric of the score: accuracy, auc, mse, r2 or agreement (with the float model). Default: depends on the "
    "data.",
)
@click.option(
    "--recipe",
    help="Quantization recipe: int8 (default), w4, int16x8, ... or a TOML file. See docs/recipes.md.",
)
@click.option(
    "--check-data",
    type=FILE,
    help="Data recorded by deployed devices. Report which tensors would clip it, and how clipping changes the score.",
)
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Also measure the error that each layer causes when only that layer is quantized.",
)
@click.option(
    "--board",
    "boards",
    multiple=True,
    help="Also check whether the image fits this board. If it does not, the exit code is 1.",
)
@click.option(
    "--budget",
    help='Search for a recipe within limits such as "ram=48k,flash=256k,instructions=5M,drop=1%". '
    "drop: loss of the score compared with the float model.",
)
@click.option(
    "--trials", type=click.IntRange(1), default=40, show_default=True, help="Number of recipes to try."
)
@click.option(
    "--study",
    type=FILE,
    help="File for the results of the search. If it exists, the search in it is continued.",
)
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Number of processes for the search."
)
@click.option("--dask", help="Run the search on the cluster of the Dask scheduler at this address.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed of the search.")
@click.option(
    "--pixels",
    help="Values that the pixels of pictures become: 0..1, -1..1, 0..255 or imagenet. The pictures are resized to the "
    "model's input. Use --preprocessing for other steps.",
)
@click.option("--preprocessing", type=FILE, help="TOML file to record in the image. See docs/processing.md.")
@click.option("--postprocessing", type=FILE, help="TOML file to record in the image. See docs/processing.md.")
@click.option("--labels", type=FILE, help="File with one label per line, to record in the image.")
@click.option(
    "--input-shape",
    multiple=True,
    help="Input shape such as 1,3,96,96 or NAME=1,3,96,96, for a source with unknown dimensions.",
)
@click.option("--signature", default="", help="Signature of a SavedModel to convert.")
@click.option("--keep-layout", is_flag=True, help="Do not transpose NCHW inputs to NHWC.")
@click.option("--html", type=FILE, help="Write a report of the conversion to this HTML file.")
@click.option(
    "--max-drop",
    type=click.FloatRange(0),
    help="Largest acceptable loss of the score in percentage points. If the image loses more, the exit code is 1.",
)
@click.option(
    "--auto",
    is_flag=True,
    help="Use the cheapest recipe that loses at most --max-drop (default: 0.5 points): int8, better int8, int16 in the "
    "layers that need it, or int16 in all layers. Show the cost of each.",
)
@no_passes_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def convert(
    source: str,
    output: Path | None,
    calibration: Path | None,
    calibration_samples: int | None,
    test: Path | None,
    metric: str | None,
    recipe: str | None,
    check_data: Path | None,
    sensitivity: bool,
    boards: tuple[str, ...],
    budget: str | None,
    trials: int,
    study: Path | None,
    jobs: int,
    dask: str | None,
    seed: int,
    pixels: str | None,
    preprocessing: Path | None,
    postprocessing: Path | None,
    labels: Path | None,
    input_shape: tuple[str, ...],
    signature: str,
    keep_layout: bool,
    html: Path | None,
    max_drop: float | None,
    auto: bool,
    no_passes: bool,
    as_json: bool,
) -> int:
    """Convert SOURCE to an image: a .tflite file that also contains a plan of the arena.

    SOURCE is a .keras, .h5, .onnx, .pt2 or .tflite file, a SavedModel, or MODULE:FUNCTION, which returns a PyTorch
    model. A float model is calibrated with --calibration and quantized by --recipe, or by the recipe that --auto
    or a search within --budget finds. The image has its operators in execution order, and the plan in its metadata.
    Stock LiteRT and TensorFlow Lite Micro load it and compute the same outputs.
    """
    from arenite.host.interface.conversion import convert as run_conversion
    from arenite.host.report import conversion_text

    if html is not None and html.is_dir():
        raise UsageError(f"{html} is a folder.", "Give the path of a file.")
    with Stages() as stages:
        report = run_conversion(
            source,
            output,
            calibration=calibration,
            calibration_samples=calibration_samples,
            test=test,
            metric=metric,
            recipe=recipe,
            check_data=check_data,
            sensitivity=sensitivity,
            boards=boards,
            budget=budget,
            trials=trials,
            study=study,
            jobs=jobs,
            dask=dask,
            seed=seed,
            pixels=pixels,
            preprocessing=preprocessing,
            postprocessing=postprocessing,
            labels=labels,
            input_shapes=input_shape,
            signature=signature,
            keep_layout=keep_layout,
            passes=not no_passes,
            max_drop=None if max_drop is None else max_drop / 100,
            auto=auto,
            progress=stages,
        )
    if html is not None:
        from arenite.host.report.conversion_page import conversion_page

        repeat_command = command_line(click.get_current_context(), without=("html", "as_json"))
        write_atomic(html, conversion_page(report.conversion, report.verdicts, repeat_command).encode())
    if as_json:
        print_json(report.to_json())
    else:
        for text in report.notes:
            note(text)
        show(*conversion_text.tables(report.conversion, report.path, report.verdicts, report.shrink))
    return 0 if report.met else 1
