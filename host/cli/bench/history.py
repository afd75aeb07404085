"""``arenite bench history``: show stored results over time, and mark regressions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from arenite.files import write_atomic
from arenite.host.bench.store.changes import TITLES, RegressionRules
from arenite.host.bench.store.history import BEST, PREVIOUS, RunSeries, SeriesPoint, history_json, series_of
from arenite.host.bench.store.location import store_path
from arenite.host.bench.store.run_rows import describe_mode
from arenite.host.bench.store.store import Store
from arenite.host.cli.bench.subcommands import rules_options, store_option
from arenite.host.report.console import note, print_json, show, table
from arenite.host.report.history_page import history_page


@click.command()
@click.option("--board", metavar="NAME", help="Show only this board. Default: all boards.")
@click.option(
    "--model",
    metavar="NAME",
    help="Show only this model, by its file name with or without the suffix. Default: all models.",
)
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Show only this number of the latest runs of each series (one model, board and mode).",
)
@click.option(
    "--against",
    type=click.Choice((PREVIOUS, BEST)),
    default=PREVIOUS,
    show_default=True,
    help="Compare each run with the previous run of the series, or with the best run shown.",
)
@rules_options
@click.option(
    "--fail",
    is_flag=True,
    help="Return exit code 1 if the latest run of a series has a regression. Default: return 0.",
)
@store_option
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write an HTML page with trends and a comparison of boards.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def history(
    board: str | None,
    model: str | None,
    last: int,
    against: str,
    rules: RegressionRules,
    fail: bool,
    store: Path | None,
    html: Path | None,
    as_json: bool,
) -> int:
    """Show stored results over time, one table per model, board and mode (the build options), and flag regressions."""
    store_file = store_path(store)
    name = None if model is None else Path(model).stem
    with Store(store_file, create=False) as opened:
        runs = opened.runs(board=board, model=name, results=False)
        series = series_of(runs, rules, last=last, against=against)
        latest = [opened.run(s.points[-1].run.id) for s in series] if html is not None else []
    regression_count = sum(len(s.points[-1].regressions) for s in series)
    if as_json:
        print_json(history_json(store_file, series, rules))
    else:
        for one_series in series:
            show(_table(one_series))
        _summary(series, store_file)
    if html is not None:
        write_atomic(html, history_page(str(store_file), series, latest, rules))
        note(f"Report: {html}")
    return 1 if fail and regression_count else 0


def _table(series: RunSeries) -> object:
    head = (
        "run",
        "time (UTC)",
        "revision",
        "bit-exact",
        "one inference",
        "change",
        "RAM B",
        "flash B",
        "regressions",
    )
    rows = [_row(point) for point in series.points]
    return table(f"{series.model} on {series.board}, {describe_mode(series.mode)}", head, rows)


def _row(point: SeriesPoint) -> tuple[object, ...]:
    f = point.run.figures
    unit = "instructions" if f["instructions"] is not None else "latency_us"
    speed = "-" if f[unit] is None else f"{f[unit]:,}" + ("" if unit == "instructions" else " µs")
    change = next((c.share for c in point.changes if c.figure == unit), None)
    return (
        point.run.id,
        point.run.time.replace("T", " ")[:16],
        f"{(f['revision'] or '-')[:10]}{'+' if f['dirty'] else ''}",
        f"{f['bit_exact']} of {f['samples']}",
        speed,
        "-" if change is None else f"{change:+.2%}",
        f"{f['ram_total']:,}",
        f"{f['flash_total']:,}",
        "; ".join(TITLES[c.figure] for c in point.regressions),
    )


def _summary(series: Sequence[RunSeries], store_file: Path) -> None:
    if not series:
        note(f"{store_file} has no matching run.")
    for s in series:
        for c in s.points[-1].regressions:
            note(
                f"Regression: {s.model} on {s.board}, {describe_mode(s.mode)}: {TITLES[c.figure]} {c.old:,.10g} →"
                f" {c.new:,.10g} (run {c.against} → {s.points[-1].run.id}): {c.rule}."
            )
