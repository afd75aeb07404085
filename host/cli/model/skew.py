"""``arenite skew``: compare the recorded preprocessing with the training pipeline's own code."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.counts import count_of
from arenite.errors import UsageError
from arenite.host.report.console import print_json, show, table


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    help="Pictures or WAV files to run the steps on: one file, or a folder.",
)
@click.option(
    "--pipeline",
    metavar="MODULE:FUNCTION",
    help=(
        "A function of your training code that takes a file's path and returns the network's input. Its "
        "result is compared with the result of all recorded steps."
    ),
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Maximum number of files to use, evenly spread over the folder.",
)
@click.option(
    "--install",
    is_flag=True,
    help=(
        "Install TensorFlow or PyTorch into an environment in the cache folder if a step imitates one of "
        "them. Without this option, such a step is compared only if the library is already installed."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def skew(image: Path, data: Path, pipeline: str | None, samples: int, install: bool, as_json: bool) -> int:
    """Run each preprocessing step that IMAGE records, run the function of Pillow, OpenCV or another library that the
    step imitates, and compare the two results. With --pipeline, also compare the result of all steps with your
    training code.

    IMAGE is a model, not a picture: a .tflite file that `arenite convert` wrote. It can also be a TOML or JSON file
    with preprocessing steps.

    The exit code is 1 if a difference is larger than rounding can explain.
    """
    from arenite.converters.importers.load import load_any_image
    from arenite.converters.processing.media_files import suffixes
    from arenite.converters.processing.skew.check_skew import check_skew
    from arenite.converters.processing.specification.preprocessing import load_preprocessing
    from arenite.host.bench.sample_files import sample_files
    from arenite.host.build.attachments import recorded_preprocessing

    if image.suffix.lower() in (".toml", ".json"):
        spec = load_preprocessing(image)
    else:
        recorded_spec = recorded_preprocessing(load_any_image(image).extra)
        if recorded_spec is None:
            raise UsageError(
                f"{image} records no preprocessing.",
                "Convert it with --preprocessing FILE.toml, or give that file.",
            )
        spec = recorded_spec
    comparison = check_skew(
        spec, sample_files(data, suffixes(spec), samples), pipeline=pipeline, make_environments=install
    )
    if as_json:
        print_json(comparison.to_json())
    else:
        rows = [
            (
                s.step,
                s.library or "-",
                f"{s.max_abs:.3g}" if s.library else "-",
                f"{s.mean_abs:.2g}" if s.library else "-",
                s.unit,
                f"{s.allowed:.2g}",
                s.why or ("yes" if s.agrees else "NO"),
            )
            for s in comparison.steps
        ]
        columns = ("step", "compared with", "max error", "mean error", "unit", "allowed", "agrees")
        show(table(f"Skew, {count_of(comparison.samples, 'sample')}", columns, rows), comparison.sentence())
    return 0 if comparison.agrees else 1
