"""Format the results as Markdown: a table of all runs, and shorter tables for docs/performance.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arenite.host.report.generated_tables import markdown_table
from benchmarks.table.runs import VARIANTS, BenchmarkRun
from benchmarks.table.targets import Verdict

#: Verdicts by (model, board, variant, figure).
Verdicts = Mapping[tuple[str, str, str, str], Verdict]


def all_runs_page(runs: Sequence[BenchmarkRun], verdicts: Verdicts) -> str:
    """Return a Markdown table with one row per run, followed by the missed targets and notes."""
    head = ["model", "board", "variant", "bit-exact", "instructions", "÷ baseline", "per MAC", "est. cycles"]
    head += ["cycles per instruction", "init", "arena B", "stack B", "RAM B", "code B", "weights B"]
    rows = []
    for run in runs:
        names = [run.job.model.stem, run.job.board.name, run.job.variant]
        if run.result is None:
            rows.append([*names, run.note, *[""] * (len(head) - 4)])
            continue
        r = run.result
        memory, count = r["memory"], r["inference"]["instructions"]["p50"]
        ratio = r["compare"]["figures"]["instructions"]["ratio"] if r.get("compare") else None
        cycles = r["inference"]["cycles"]["p50"]
        rows.append(
            [
                *names,
                f"{r['samples']['bit_exact']}/{r['samples']['count']}",
                f"{count:,}",
                "-" if ratio is None else f"{ratio:.3f}",
                f"{count / max(r['model']['macs'], 1):.3f}",
                f"{cycles:,}",
                f"{cycles / max(count, 1):.2f}",
                f"{r['init']['instructions']:,}",
                f"{memory['arena']:,} ({memory['arena_status']})",
                f"{memory['stack']:,}",
                f"{memory['ram_total']:,}",
                f"{r['flash']['code']:,}",
                f"{r['flash']['weights']:,}",
            ]
        )
    parts = [markdown_table(head, rows, range(4, len(head)))]
    notes = [f"- {run.job}: {text}" for run in runs for text in _notes(run.result)]
    missed = [
        f"- {model} on {board}, {variant}: {figure} {_format(v.value)}, the target is at most {_format(v.limit)}"
        for (model, board, variant, figure), v in sorted(verdicts.items())
        if not v.met
    ]
    if verdicts:
        parts.append(f"{sum(v.met for v in verdicts.values())} of {len(verdicts)} targets met.")
    if missed:
        parts.append("Targets missed:\n\n" + "\n".join(missed))
    if notes:
        parts.append("Runs whose instructions say little about time:\n\n" + "\n".join(notes))
    return "\n\n".join(parts) + "\n"


def _notes(result: Mapping[str, Any] | None) -> list[str]:
    if result is None:
        return []
    compared = result.get("compare")
    return [compared["note"]] if compared and compared["note"] else []


def short_tables(runs: Sequence[BenchmarkRun], verdicts: Verdicts) -> str:
    """Return Markdown tables: the instructions for each board, then total RAM and code for each board with such
    targets. A figure with a target has the target in parentheses."""
    results = {(r.job.model.stem, r.job.board.name, r.job.variant): r.result for r in runs}
    models = list(dict.fromkeys(r.job.model.stem for r in runs))
    boards = {r.job.board.name: r.job.board for r in runs}
    variants = [v for v in VARIANTS if any(r.job.variant == v for r in runs)]
    parts = []
    for name, board in boards.items():
        parts.append(
            f"**{board.title}**, instructions per inference (the ratio to the baseline in parentheses):"
        )
        rows = [
            [
                m,
                *(
                    _cell(results.get((m, name, v)), verdicts.get((m, name, v, "instructions")))
                    for v in variants
                ),
                _cycles(results.get((m, name, variants[0]))),
            ]
            for m in models
        ]
        head = ["model", *variants, f"est. cycles, {variants[0]}"]
        parts.append(markdown_table(head, rows, range(1, len(head))))
    for figure, title, place in (
        ("ram_total", "total RAM, bytes", ("memory", "ram_total")),
        ("code", "code in flash, bytes", ("flash", "code")),
    ):
        for name, board in boards.items():
            if not any(key[1] == name and key[3] == figure for key in verdicts):
                continue
            parts.append(f"**{board.title}**, {title}:")
            rows = []
            for m in models:
                cells = [m]
                for v in variants:
                    result, verdict = results.get((m, name, v)), verdicts.get((m, name, v, figure))
                    cells.append(_plain(result[place[0]][place[1]], verdict) if result is not None else "-")
                rows.append(cells)
            parts.append(markdown_table(["model", *variants], rows, range(1, len(variants) + 1)))
    if verdicts:
        parts.append(
            f"{sum(v.met for v in verdicts.values())} of {len(verdicts)} targets met; ✗ marks a missed target."
        )
    return "\n\n".join(parts)


def _cell(result: Mapping[str, Any] | None, verdict: Verdict | None) -> str:
    if result is None:
        return "-"
    count = result["inference"]["instructions"]["p50"]
    compared = result.get("compare")
    if verdict is not None:
        return _plain(count, verdict)
    ratio = compared["figures"]["instructions"]["ratio"] if compared else None
    return f"{count:,}" + (f" ({ratio:.2f})" if ratio is not None else "")


def _cycles(result: Mapping[str, Any] | None) -> str:
    if result is None:
        return "-"
    cycles, count = result["inference"]["cycles"]["p50"], result["inference"]["instructions"]["p50"]
    return f"{cycles:,} ({cycles / max(count, 1):.2f} each)"


def _plain(value: float, verdict: Verdict | None) -> str:
    if verdict is None:
        return f"{value:,}"
    mark = "" if verdict.met else " ✗"
    rendered = f"{_format(verdict.value)} ≤ " if verdict.target.kind != "at_most" else "≤ "
    if not verdict.met:
        rendered = rendered.replace("≤", ">")
    return f"{value:,} ({rendered}{_format(verdict.limit)}{mark})"


def _format(value: float) -> str:
    return f"{value:,}" if value >= 100 else f"{value:.3g}"
