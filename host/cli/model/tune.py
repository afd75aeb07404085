"""``arenite tune``: choose the thresholds of a decision on labelled recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.cli.option_types import Number
from arenite.host.cli.progress import Steps
from arenite.host.report.console import note, print_json, show, table

if TYPE_CHECKING:
    from arenite.host.tune.tune import TuneResult

_PATH = click.Path(path_type=Path)


class _Percentage(click.ParamType[float]):
    """A share such as 5%, as a fraction from 0 to 1."""

    name = "percentage"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / 100
        except ValueError:
            share = -1.0
        if not text.endswith("%") or not 0 <= share <= 1:
            self.fail(f"{text!r} is no percentage. Give for example 5%.", param, ctx)
        return share


@click.command()
@click.argument("image", type=_PATH)
@click.option(
    "--data",
    multiple=True,
    required=True,
    type=_PATH,
    metavar="DATA",
    help=(
        "A WAV file with a label file of the same name beside it (.csv, .tsv, or .txt of Audacity); a folder of such "
        "files; or a folder with a sub-folder of clips per class, and a sub-folder 'background' without events. May be "
        "given several times."
    ),
)
@click.option(
    "--false-accepts-per-hour",
    "per_hour",
    type=Number(0),
    metavar="RATE",
    help="Largest number of false accepts per hour and class. Default: 0.5, unless --misses is given.",
)
@click.option(
    "--misses",
    type=_Percentage(),
    metavar="SHARE",
    help="Largest share of labels of each class that may be missed, such as 5%. It replaces the rate of false accepts.",
)
@click.option(
    "--decision",
    "decision_file",
    type=_PATH,
    metavar="FILE",
    help="TOML or JSON file with the table [decision] to start from. Default: the decision that IMAGE records, or the "
    "mean of three hops.",
)
@click.option(
    "--hop-ms",
    type=Number(0, 60_000),
    metavar="MS",
    help="Time from one inference to the next. Default: that of the decision, or an eighth of the model's window.",
)
@click.option(
    "--tolerance-ms",
    type=Number(0, 3_600_000),
    metavar="MS",
    help="Time after the end of a label in which its event may start. Default: a window of the model and the smoothed "
    "hops.",
)
@click.option(
    "--check",
    "is_check",
    is_flag=True,
    help="Do not choose thresholds: measure those that IMAGE records, for example on recordings that were not used for "
    "tuning.",
)
@click.option(
    "-o",
    "--output",
    type=_PATH,
    metavar="FILE",
    help="Write the image with the chosen thresholds to this file, which may be IMAGE itself. Default: nothing is "
    "written.",
)
@click.option(
    "--svg",
    type=_PATH,
    metavar="FILE",
    help="Write a plot of false accepts per hour over misses to this SVG file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def tune(
    image: Path,
    data: tuple[Path, ...],
    per_hour: float | None,
    misses: float | None,
    decision_file: Path | None,
    hop_ms: float | None,
    tolerance_ms: float | None,
    is_check: bool,
    output: Path | None,
    svg: Path | None,
    as_json: bool,
) -> int:
    """Choose the thresholds with which the scores of IMAGE become events, on labelled recordings.

    IMAGE is a model of sound with int8 scores that `arenite convert` wrote with --preprocessing. Every hop goes
    through the recorded preprocessing and LiteRT's reference kernels, so the scores are those of the device. For each
    class, the threshold that reaches the target is chosen and recorded with -o.

    The exit code is 1 if a class does not reach the target with all classes together. The image is written anyway.
    """
    from arenite.converters.decision.record import load_decision
    from arenite.host.tune.curve import Target
    from arenite.host.tune.tune import TuneOptions
    from arenite.host.tune.tune import tune as run

    if per_hour is not None and misses is not None:
        raise UsageError("--false-accepts-per-hour and --misses are both given.", "Give one of the two.")
    if is_check and output is not None:
        raise UsageError("--check changes nothing that -o could write.", "Remove -o or --check.")
    for path in (output, svg):
        if path is not None and path.is_dir():
            raise UsageError(f"{path} is a folder.", "Give the path of a file.")
    target = Target(misses=misses) if misses is not None else Target(0.5 if per_hour is None else per_hour)
    decision = None
    if decision_file is not None:
        decision = load_decision(decision_file)[0]
        if decision is None:
            raise UsageError(f"{decision_file} has no table [decision].", "Add one (docs/events.md).")
    options = TuneOptions(target, decision, hop_ms, tolerance_ms, is_check)
    with Steps("") as progress:
        result = run(image, data, options, progress)
    record = result.to_json() | {"image": str(image), "output": None if output is None else str(output)}
    if output is not None:
        write_atomic(output, result.image)
    if svg is not None:
        from arenite.host.report.tune_svg import tune_svg

        write_atomic(svg, tune_svg(record) + "\n")
    if as_json:
        print_json(record)
    else:
        _show(image, result, output)
    return 0 if result.met else 1


def _show(image: Path, result: TuneResult, output: Path | None) -> None:
    """Print the classes as a table."""
    for text in result.notes:
        note(text)
    record = result.to_json()
    rows = []
    for entry, kind in [*((c, "class") for c in record["classes"]), (record["total"], "all classes")]:
        share = f" ({100 * entry['misses'] / entry['labels']:.1f} %)" if entry["labels"] else ""
        is_class = kind == "class"
        rows.append(
            (
                entry["name"] if is_class else kind,
                f"{entry['threshold']:.4g}" if is_class else "",
                f"{entry['release']:.4g}" if is_class else "",
                entry["labels"],
                f"{entry['misses']}{share}",
                entry["false_accepts"],
                f"{entry['false_accepts_per_hour']:.2f}",
                "-" if entry["delay_ms"] is None else f"{round(entry['delay_ms'])}",
            )
        )
    columns = ("class", "threshold", "release", "labels", "missed", "false accepts", "per hour", "delay ms")
    title = f"{image.name}, {record['hours']:.2f} hours, one inference per {record['hop_ms']:g} ms"
    show(table(title, columns, rows))
    show("The delay is the median time from the end of a label to the start of its event.")
    if output is not None:
        note(f"Written: {output}")
    if not result.met:
        show("The target is not met. Give more data, another target, or a model with fewer errors.")
