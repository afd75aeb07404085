"""Make the self-contained HTML page of stored runs: figures over time, and a comparison of the latest results."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.host.bench.store.changes import TITLES, RegressionRules
from arenite.host.bench.store.history import RunSeries
from arenite.host.bench.store.run_rows import StoredRun, describe_mode
from arenite.host.report.boards_page import Entry, comparison
from arenite.host.report.html_parts import RawCell, document, head, name_cell, number_cell, row, table, text
from arenite.host.report.trend_svg import TrendPoint, trend_svg

#: The figures that are drawn over time if a series has them.
DRAWN = ("instructions", "latency_us", "energy_uj", "ram_total", "flash_total", "accuracy")


def history_page(
    store: str, series: Sequence[RunSeries], latest: Sequence[StoredRun], rules: RegressionRules
) -> str:
    """Return the HTML page for the series of ``arenite bench history``.

    ``store`` is the path of the store. ``latest`` has the last run of each series, including its complete result.
    """
    regressions = [(s, c) for s in series for c in s.points[-1].regressions]
    parts = ["<h1>Bench history</h1>", f'<p class="sub">{text(store)}</p>', "<h2>Regressions</h2>"]
    if regressions:
        rows = [
            row(
                name_cell(f"{s.model} on {s.board}, {describe_mode(s.mode)}"),
                TITLES[c.figure],
                number_cell(f"{c.old:,.10g}"),
                number_cell(f"{c.new:,.10g}"),
                RawCell(f'<td class="no">{text(c.rule)}</td>'),
                f"run {c.against}",
            )
            for s, c in regressions
        ]
        parts.append(table(head("series", "figure", "before:n", "now:n", "", "against"), rows))
    else:
        parts.append('<p class="yes">None in the latest runs.</p>')
    parts.append(
        f'<p class="kind">These changes are regressions: a size grows by more than {rules.bytes} B; an exact '
        "count grows by "
        f"more than {rules.instructions:.2%}; a time or measured energy grows by more than {rules.time:.1%} "
        "and by more "
        f"than the spread of the runs; the accuracy falls by more than {rules.accuracy:g}; outputs are no longer "
        "bit-exact.</p>"
    )
    for s in series:
        parts += _series(s)
    entries = [Entry(run.model, run.board, describe_mode(run.mode), run.result) for run in latest]
    parts += ["<h2>Latest runs by board</h2>", *comparison(entries)]
    return document("Bench history", parts)


def _series(s: RunSeries) -> list[str]:
    """Return the drawings and the table of one series of runs."""
    drawings = []
    for figure in DRAWN:
        dots = [
            TrendPoint(
                str(p.run.id),
                value,
                _tooltip(p.run.time, p.run.figures),
                any(c.figure == figure for c in p.regressions),
            )
            for p in s.points
            if (value := p.run.figures.get(figure)) is not None
        ]
        if len(dots) > 1:
            drawings.append(trend_svg(TITLES[figure], dots))
    rows = []
    for p in reversed(s.points):
        f = p.run.figures
        exact, latency = f["instructions"], f["latency_us"]
        speed = f"{exact:,}" if exact is not None else "-" if latency is None else f"{latency:,} µs"
        regressions_text = "; ".join(
            f"{TITLES[c.figure]}: {c.old:,.10g} → {c.new:,.10g}" for c in p.regressions
        )
        rows.append(
            row(
                p.run.id,
                RawCell(f'<td class="keep">{p.run.time.replace("T", " ")[:16]}</td>'),
                f"{(f['revision'] or '')[:10]}{'+' if f['dirty'] else ''}" or "-",
                name_cell(f["compiler"] or "-"),
                number_cell(f"{f['bit_exact']} of {f['samples']}"),
                number_cell(speed),
                number_cell(f"{f['ram_total']:,}"),
                number_cell(f"{f['flash_total']:,}"),
                RawCell(f'<td class="no">{text(regressions_text)}</td>'),
            )
        )
    columns = head(
        *(
            "run:n",
            "time (UTC)",
            "revision",
            "compiler",
            "bit-exact:n",
            "one inference:n",
            "RAM B:n",
            "flash B:n",
            "",
        )
    )
    return [
        f"<h2>{text(s.model)} on {text(s.board)}, {text(describe_mode(s.mode))}</h2>",
        f"<div>{''.join(drawings)}</div>",
        table(columns, rows),
    ]


def _tooltip(time: str, figures: object) -> str:
    revision = figures.get("revision") if isinstance(figures, dict) else None
    return f"{time.replace('T', ' ')[:16]} {(revision or '')[:10]}".strip()
