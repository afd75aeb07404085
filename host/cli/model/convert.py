"""``arenite convert``: convert a trained model to an image with a planned arena."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.converters.graph.feature_types import FEATURE_TYPES
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
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Image to write. Default: the path of SOURCE with the suffix .image.tflite.",
)
@click.option(
    "--calibration",
    type=FILE,
    metavar="DATA",
    help=(
        "Real inputs that set the quantization ranges: an .npz file with the array x (and y, the labels), or "
        "a folder of arrays, pictures or recordings. The word random instead of a path: use random "
        "numbers, which are enough to see the size of the image and whether it fits; its outputs are "
        "useless. Required for a float model, except with a recipe that needs no samples."
    ),
)
@click.option(
    "--calibration-samples",
    type=click.IntRange(1),
    help=(
        "Number of --calibration samples to calibrate with, evenly spread. Without --test, the remaining "
        "samples are used for the score. Default: all samples."
    ),
)
@click.option(
    "--test",
    type=FILE,
    metavar="DATA",
    help=(
        "Labeled samples to compute the scores of SOURCE and of the image with, in the formats of "
        "--calibration. Default: samples of --calibration."
    ),
)
@click.option(
    "--metric",
    metavar="NAME",
    help=(
        "Metric of the score: accuracy, auc, mse, r2 or agreement (with the float model). Default: chosen "
        "from the labels and outputs."
    ),
)
@click.option(
    "--recipe",
    metavar="RECIPE",
    help=(
        "Quantization recipe: int8, int8_per_tensor, int8_percentile, int8_mse, int8_entropy, w4, w4_mixed, "
        "int16x8, float16, dynamic, weight_only, or a TOML file (docs/recipes.md). Default: int8, with other "
        "rounding, biases or ranges if the outputs for the calibration samples are then nearer to those of the float "
        "model (--recipe int8 keeps plain int8); int16x8 for a scikit-learn classifier if int8 could change its "
        "classes."
    ),
)
@click.option(
    "--check-data",
    type=FILE,
    metavar="DATA",
    help=(
        "Samples that were recorded by devices in use, in the formats of --calibration. The report shows "
        "which tensors would clip their values, and how clipping changes the score."
    ),
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
    metavar="NAME",
    help=(
        "Also check whether the image fits this board (`arenite boards` lists the names). If it does not, the "
        "exit code is 1. May be given several times."
    ),
)
@click.option(
    "--budget",
    metavar="LIMITS",
    help=(
        'Search for a recipe within limits such as "ram=48k,flash=256k,drop=1%". ram and '
        "flash are in bytes; instructions (such as 5M) is the number per inference; drop is the loss of the score "
        "compared with the float model, in percentage points; accuracy=90% is the lowest score. Needs --calibration "
        "and --board. The search uses only the first --board."
    ),
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=40,
    show_default=True,
    help="Number of recipes that a search with --budget tries.",
)
@click.option(
    "--study",
    type=FILE,
    metavar="FILE",
    help=(
        "File for the results of the search. If the file exists, its search is continued. Default: the "
        "results are not kept."
    ),
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of parallel processes for the search.",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run the search on the cluster of the Dask scheduler at this address, such as tcp://host:8786.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed of the search.")
@click.option(
    "--pixels",
    metavar="RANGE",
    help=(
        "Range to scale the pixel values of pictures to: 0..1, -1..1, 0..255, or imagenet (its mean and "
        "deviation per channel). The pictures are also resized to the model's input. Use --preprocessing for "
        "other steps."
    ),
)
@click.option(
    "--preprocessing",
    type=FILE,
    metavar="FILE",
    help=(
        "TOML or JSON file with the preprocessing steps of the input. They are applied to pictures and "
        "recordings, and recorded in the image. See docs/processing.md."
    ),
)
@click.option(
    "--postprocessing",
    type=FILE,
    metavar="FILE",
    help=(
        "TOML or JSON file with the steps that turn the outputs into an answer. They are recorded in the "
        "image. See docs/processing.md."
    ),
)
@click.option(
    "--anomaly",
    type=FILE,
    metavar="FILE",
    help=(
        "TOML or JSON file with the settings of an anomaly head, which learns on the device which outputs are normal. "
        "They are recorded in the image. See docs/anomaly.md."
    ),
)
@click.option(
    "--labels",
    type=FILE,
    metavar="FILE",
    help="Text file with one class label per line. The labels are recorded in the image.",
)
@click.option(
    "--decision",
    type=FILE,
    metavar="FILE",
    help=(
        "TOML or JSON file with the tables [decision], which turns scores into events, and [gate]; one or both. They "
        "are recorded in the image. See docs/events.md."
    ),
)
@click.option(
    "--input-shape",
    multiple=True,
    metavar="SHAPE",
    help=(
        "Shape such as 1,3,96,96 or NAME=1,3,96,96 for an input with a dimension of unknown size. May be "
        "given several times."
    ),
)
@click.option(
    "--signature",
    default="",
    metavar="NAME",
    help="Name of the signature to convert, if SOURCE is a SavedModel with several signatures.",
)
@click.option(
    "--keep-layout", is_flag=True, help="Do not convert NCHW inputs of PyTorch and ONNX models to NHWC."
)
@click.option(
    "--features",
    type=click.Choice(FEATURE_TYPES),
    default="float32",
    show_default=True,
    help=(
        "Type of the features of a tree ensemble from scikit-learn (docs/classical.md). The integer types are for "
        "features that are whole numbers."
    ),
)
@click.option("--html", type=FILE, metavar="FILE", help="Write a report of the conversion to this HTML file.")
@click.option(
    "--max-drop",
    type=click.FloatRange(0),
    metavar="POINTS",
    help=(
        "Largest acceptable loss of the score of any output, in percentage points. If an output loses more, "
        "the exit code is 1. The image is written anyway."
    ),
)
@click.option(
    "--auto",
    is_flag=True,
    help="Try int8; int8 with GPTQ rounding, bias correction or another calibrator; int16 in the layers that need it; "
    "and int16 in all layers. Use the one with the fewest instructions that loses at most --max-drop (default: 0.5 "
    "points). Show the loss, the bytes and the estimated instructions of each.",
)
@click.option(
    "--stateful",
    is_flag=True,
    help="Keep the values of the model's state variables from one sample to the next in the scores. Default: reset "
    "them before each sample. Calibration always keeps them.",
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
    anomaly: Path | None,
    labels: Path | None,
    decision: Path | None,
    input_shape: tuple[str, ...],
    signature: str,
    keep_layout: bool,
    features: str,
    html: Path | None,
    max_drop: float | None,
    auto: bool,
    stateful: bool,
    no_passes: bool,
    as_json: bool,
) -> int:
    """Convert SOURCE to an image: a .tflite file that also contains a plan of the arena.

    SOURCE is a .keras, .h5, .onnx, .pt2 or .tflite file, a SavedModel, or MODULE:FUNCTION, which returns a PyTorch
    model. A float model is calibrated with --calibration and quantized with --recipe, or with the recipe that --auto
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
            anomaly=anomaly,
            labels=labels,
            decision=decision,
            input_shapes=input_shape,
            signature=signature,
            keep_layout=keep_layout,
            features=features,
            passes=not no_passes,
            max_drop=None if max_drop is None else max_drop / 100,
            auto=auto,
            stateful=stateful,
            progress=stages,
            announce=note,
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
