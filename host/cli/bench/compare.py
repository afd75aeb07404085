"""``arenite bench compare``: compare two results figure by figure and layer by layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arenite.host.bench.store.changes import (
    TICK_INSTRUCTIONS,
    TITLES,
    Change,
    RegressionRules,
    changes,
    layer_changes,
)
from arenite.host.bench.store.history import named_run
from arenite.host.bench.store.location import store_path
from arenite.host.bench.store.run_rows import StoredRun
from arenite.host.cli.bench.subcommands import rules_options, store_option
from arenite.host.report.console import note, print_json, show, table


@click.command()
@click.argument("before")
@click.argument("after")
@rules_options
@click.option("--fail", is_flag=True, help="Return exit code 1 if AFTER has a regression. Default: return 0.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def compare(
    before: str, after: str, rules: RegressionRules, fail: bool, store: Path | None, as_json: bool
) -> int:
    """Compare two results side by side.

    BEFORE and AFTER are each the number of a stored run (`arenite bench history` shows the numbers), last (the latest
    stored run), last~1 (the run before it), or a file that `arenite bench --json` wrote.
    """
    store_file = store_path(store)
    old, new = named_run(before, store_file), named_run(after, store_file)
    differences = changes([old], new, rules)
    layers = layer_changes(old, new)
    regressions = [c for c in differences if c.rule is not None]
    if as_json:
        print_json(
            {
                "schema": "arenite.compare/1",
                "runs": [_run_json(run) for run in (old, new)],
                "rules": rules.to_json(),
                "figures": [c.to_json() for c in differences],
                "layers": layers,
                "regressions": len(regressions),
            }
        )
    else:
        rows = [
            (TITLES[c.figure], f"{c.old:,.10g}", f"{c.new:,.10g}", _change_text(c), c.rule or "")
            for c in differences
        ]
        title = f"{_name(old, before)} → {_name(new, after)}"
        show(table(title, ("", "before", "after", "change", "regression"), rows))
        _show_layers(layers)
        if {c.figure for c in differences}.isdisjoint({"instructions", "latency_us"}):
            note(
                "Speed and accuracy are not compared: the runs used different samples or did not measure them."
            )
    return 1 if fail and regressions else 0


def _name(run: StoredRun, argument: str) -> str:
    name = f"run {run.id}" if run.id else argument
    return f"{name} ({run.model} on {run.board})"


def _run_json(run: StoredRun) -> dict[str, Any]:
    return {
        "run": run.id or None,
        "time": run.time or None,
        "model": run.model,
        "board": run.board,
        "data": run.data,
    }


def _change_text(c: Change) -> str:
    return f"{c.new - c.old:+,.6g}" + ("" if c.share is None else f" ({c.share:+.2%})")


def _show_layers(layers: list[dict[str, Any]]) -> None:
    """Show the layers that changed as a table. ``layers`` are rows of ``layer_changes``."""
    rows = []
    for layer in layers:
        unit = "instructions" if any(v is not None for v in layer["instructions"]) else "ticks"
        (a, b), (old, new) = layer[unit], layer["op"]
        same = a == b or (a is not None and b is not None and abs(b - a) <= TICK_INSTRUCTIONS)
        if same and old == new:
            continue
        op = old if old == new else f"{old or '-'} → {new or '-'}"
        share = f"{(b - a) / a:+.2%}" if a and b is not None else "-"
        cells = ["-" if v is None else f"{v:,}" for v in (a, b)]
        kernels = " → ".join(dict.fromkeys((k or "-").removeprefix("ar_") for k in layer["kernel"]))
        rows.append((layer["index"], op, *cells, share, kernels))
    if rows:
        show(table("Layers that changed", ("#", "operator", "before", "after", "change", "kernel"), rows))
