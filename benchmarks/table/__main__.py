"""Measure models on every emulated board in every variant: ``python -m benchmarks.table [MODEL.tflite ...]``.

The program writes an ``arenite.bench/1`` object for each run to out/bench/, with table.json and table.md. Without
models it uses the zoo's small int8 models. ``--compare BASELINE.json`` adds ratios, and verdicts on the targets of
benchmarks/table/targets.toml. ``--docs`` writes the short table to docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from arenite.errors import AreniteError, UsageError
from arenite.files import write_atomic
from arenite.host.bench.compare import BaselineRecord, compare, read_baseline
from arenite.host.report.generated_tables import DOCS, replace_section
from arenite.models import zoo
from arenite.profiles.boards import all_boards, load_board
from benchmarks.table.pages import all_runs_page, short_tables
from benchmarks.table.runs import VARIANTS, BenchmarkRun, Job, run_all
from benchmarks.table.targets import Verdict, read_targets, verdict_on

ZOO = ("image_classification", "kws_on_off", "rock_paper_scissors")
OUT = Path("out/bench")


def main(argv: list[str] | None = None) -> int:
    options = _arguments(argv)
    records = read_baseline(options.compare) if options.compare else ()
    paths = options.models or [zoo.fetch(name) for name in ZOO]
    names = options.board or [b.name for b in all_boards() if b.emulated and b.rtl is None]
    jobs = [
        Job(path, load_board(name), variant, options.samples)
        for path in paths
        for name in names
        for variant in options.variants
    ]
    runs = []
    for run in run_all(jobs, options.jobs, OUT):
        runs.append(run)
        count = run.note if run.result is None else f"{run.result['inference']['instructions']['p50']:,}"
        print(f"{len(runs)}/{len(jobs)} {run.job}: {count}", file=sys.stderr)
    runs.sort(key=lambda run: jobs.index(run.job))
    for run in runs:
        if run.result is not None and records:
            run.result["compare"] = compare(run.result, records)
    verdicts = verdicts_of_runs(runs, records)
    write_atomic(OUT / "table.json", json.dumps(as_json(runs, verdicts), indent=1) + "\n")
    text = all_runs_page(runs, verdicts)
    write_atomic(OUT / "table.md", text)
    print(text)
    if options.docs:
        page = DOCS / "performance.md"
        write_atomic(page, replace_section(page.read_text("utf-8"), "measured", short_tables(runs, verdicts)))
    return 1 if any(run.failed for run in runs) else 0


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.table", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--board", action="append", help="Board to measure. Default: every emulated board.")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument(
        "--optimise",
        default=",".join(VARIANTS),
        help="Variants, separated by commas. Default: %(default)s.",
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="Number of runs at the same time. Default: %(default)s."
    )
    parser.add_argument("--compare", type=Path, help="Records of another engine, or an earlier result.")
    parser.add_argument("--docs", action="store_true", help="Also update docs/performance.md.")
    options = parser.parse_args(argv)
    options.variants = options.optimise.split(",")
    unknown = [name for name in options.variants if name not in VARIANTS]
    if unknown:
        raise UsageError(f"Unknown variant '{unknown[0]}'.", f"Choose one of {', '.join(VARIANTS)}.")
    return options


def verdicts_of_runs(
    runs: Sequence[BenchmarkRun], records: Sequence[BaselineRecord]
) -> dict[tuple[str, str, str, str], Verdict]:
    """Return the verdicts by (model, board, variant, figure). There is a verdict for each target for which ``runs`` and
    the baseline ``records`` have the figures."""
    results = {(r.job.model.stem, r.job.board.name, r.job.variant): r.result for r in runs}
    verdicts = {}
    for target in read_targets():
        for (model, board, variant), result in results.items():
            if result is None or (board, variant) != (target.board, target.variant):
                continue

            def other(name: str, model: str = model, board: str = board) -> dict | None:
                return results.get((model, board, name))

            verdict = verdict_on(target, model, result, records, other)
            if verdict is not None:
                verdicts[model, board, variant, target.figure] = verdict
    return verdicts


def as_json(runs: Sequence[BenchmarkRun], verdicts: dict[tuple[str, str, str, str], Verdict]) -> dict:
    """Return the ``arenite.table/1`` object, which has every run and its verdicts."""
    rows = []
    for run in runs:
        key = run.job.model.stem, run.job.board.name, run.job.variant
        run_verdicts = [v.to_json() for k, v in verdicts.items() if k[:3] == key]
        row = {"model": key[0], "board": key[1], "variant": key[2], "result": run.result}
        rows.append({**row, "note": run.note or None, "targets": run_verdicts})
    return {"schema": "arenite.table/1", "rows": rows}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AreniteError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
