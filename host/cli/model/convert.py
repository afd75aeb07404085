"""``arenite convert``: a trained model in, an image with a planned arena out."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.converters.importers.imported_model import ImportOptions
from arenite.converters.importers.sources import parse_shapes
from arenite.converters.quantize.search.budget import parse_budget
from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions as SearchOptions
from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.cli.options import no_passes_option
from arenite.host.cli.progress import Stages
from arenite.host.cli.reproduce import command_line
from arenite.host.report.console import note, print_json, show
from arenite.profiles.boards import load_board

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("source")
@click.option("-o", "--output", type=FILE, help="Default: SOURCE with .image.tflite.")
@click.option("--calibration", type=FILE, help="Real inputs: an .npz file with x (and y), or a folder.")
@click.option(
    "--calibration-samples", type=click.IntRange(1), help="Calibrate with so many; the others score."
)
@click.option("--test", type=FILE, help="Labelled samples that source and image are scored with.")
@click.option("--metric", help="accuracy, auc, mse or agreement; default: what suits the data.")
@click.option("--recipe", help="int8 (default), w4, int16x8, ... or a TOML file; see docs/recipes.md.")
@click.option(
    "--check-data", type=FILE, help="Field data: tell where the scales clip them, and what it costs."
)
@click.option("--sensitivity", is_flag=True, help="Also measure each layer quantised alone.")
@click.option(
    "--board", "boards", multiple=True, help="Also tell whether the image fits; exit code 1 if not."
)
@click.option("--budget", help='Search for a recipe within "ram=48k,flash=256k,instructions=5M,drop=1%".')
@click.option("--trials", type=click.IntRange(1), default=40, show_default=True, help="Recipes to try.")
@click.option("--study", type=FILE, help="Keep the search in this file, and go on with what is in it.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes of the search.")
@click.option("--dask", help="Search on the cluster of the Dask scheduler at this address.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the search.")
@click.option("--preprocessing", type=FILE, help="TOML; recorded in the image. See docs/processing.md.")
@click.option("--postprocessing", type=FILE, help="TOML; recorded in the image. See docs/processing.md.")
@click.option("--labels", type=FILE, help="One label a line; recorded in the image.")
@click.option("--input-shape", multiple=True, help="[NAME=]1,3,96,96: where the source leaves it open.")
@click.option("--signature", default="", help="Which signature of a SavedModel.")
@click.option("--keep-layout", is_flag=True, help="Leave NCHW inputs as they are.")
@click.option("--html", type=FILE, help="Write a report of the conversion.")
@no_passes_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
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
    preprocessing: Path | None,
    postprocessing: Path | None,
    labels: Path | None,
    input_shape: tuple[str, ...],
    signature: str,
    keep_layout: bool,
    html: Path | None,
    no_passes: bool,
    as_json: bool,
) -> int:
    """Make an image of SOURCE: .keras, .h5, a SavedModel, .onnx, .pt2, MODULE:FUNCTION (PyTorch) or .tflite.

    A float model is calibrated with --calibration and quantised by --recipe, or by the recipe that a search finds
    within --budget. The image is a flatbuffer with its operators in execution order and its arena plan in the
    metadata; stock LiteRT and TensorFlow Lite Micro load it and give the same numbers.
    """
    from arenite.converters.processing.post.postprocessing import load_postprocessing
    from arenite.converters.processing.specification.preprocessing import load_preprocessing
    from arenite.host.build.attachments import Attachments, read_labels
    from arenite.host.conversion import convert as conversion
    from arenite.host.conversion.request import ConversionRequest
    from arenite.host.report import conversion_text

    target = output or default_output(source)
    if Path(source).exists() and target.resolve() == Path(source).resolve():
        raise UsageError(f"{target} is the source itself.", "Give another file with -o.")
    for written in (target, html):
        if written is not None and written.is_dir():
            raise UsageError(f"{written} is a folder.", "Give the path of a file.")
    request = ConversionRequest(
        source,
        ImportOptions(parse_shapes(input_shape), signature, keep_layout),
        Attachments(
            None if preprocessing is None else load_preprocessing(preprocessing),
            None if postprocessing is None else load_postprocessing(postprocessing),
            () if labels is None else read_labels(labels),
        ),
        calibration,
        calibration_samples,
        test,
        metric,
        recipe,
        check_data,
        tuple(load_board(name) for name in boards),
        None if budget is None else parse_budget(budget),
        SearchOptions(trials=trials, workers=jobs, dask=dask, keep=study, seed=seed),
        sensitivity,
        not no_passes,
    )
    with Stages() as stages:
        result = conversion.convert(request, stages)
        verdicts = conversion.fits(result)
        help_ = conversion.shrink_suggestions(result, verdicts, target, stages)
    write_atomic(target, result.image)
    if html is not None:
        from arenite.host.report.conversion_page import conversion_page

        again = command_line(click.get_current_context(), without=("html", "as_json"))
        write_atomic(html, conversion_page(result, verdicts, again).encode())
    if as_json:
        print_json(conversion_text.to_json(result, target, verdicts, help_))
    else:
        for text in result.notes:
            note(text)
        show(*conversion_text.tables(result, target, verdicts, help_))
    missed = budget is not None and (result.calibrated is None or result.calibrated.search.chosen is None)  # type: ignore[union-attr]
    return 1 if missed or any(not v.fits for v in verdicts) else 0


def default_output(source: str) -> Path:
    """``model.keras`` becomes ``model.image.tflite`` beside it; ``module:function`` one in the current folder."""
    path = Path(source)
    if not path.exists() and ":" in source:
        return Path(source.rpartition(":")[2] + ".image.tflite")
    path = path if path.name not in ("", "..") else path.resolve()  # "." has no name
    stem = path.name
    for ending in (".tflite", ".keras", ".h5", ".onnx", ".pt2"):
        stem = stem.removesuffix(ending)
    return path.with_name(stem + ".image.tflite")
