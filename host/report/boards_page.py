"""Make the HTML page that compares the bench results of boards. It is self-contained: it loads no script, font or
picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from arenite.host.bench.store.run_rows import BuildMode, describe_mode
from arenite.host.report.html_parts import (
    RawCell,
    bullet_list,
    cards,
    document,
    head,
    name_cell,
    number_cell,
    row,
    table,
    text,
    track,
)

_RAM = (("arena", "var(--a)"), ("stack", "var(--b)"), ("static", "var(--c)"))
_FLASH = (("weights", "var(--a)"), ("code", "var(--d)"))


@dataclass(frozen=True)
class Entry:
    """A bench result, or the error that prevented it. ``mode`` is a text that describes the build options."""

    model: str
    board: str
    mode: str
    result: Mapping[str, Any] | None
    error: str | None = None

    @property
    def build(self) -> str:
        """The text that names board and mode in the tables."""
        return self.board if self.mode == "default" else f"{self.board} ({self.mode})"


def cell_entry(cell: Mapping[str, Any]) -> Entry:
    """Return the entry of a cell of an ``arenite.matrix/1`` object."""
    mode = BuildMode(**{key: cell[key] for key in vars(BuildMode()) if key in cell})
    mode_text = describe_mode(mode.to_json())
    if cell["data"]:
        data = PurePath(cell["data"]).name
        mode_text = data if mode_text == "default" else f"{mode_text}, {data}"
    error = cell["error"]["problem"] if cell["error"] else None
    return Entry(cell["model"], cell["board"], mode_text, cell["result"], error)


def matrix_page(result: Mapping[str, Any]) -> str:
    """Return the page of an ``arenite.matrix/1`` object."""
    entries = [cell_entry(cell) for cell in result["cells"]]
    name = PurePath(result["file"]).name
    parts = [f"<h1>{text(name)}: board by board</h1>", *comparison(entries)]
    if result["notes"]:
        parts += ["<h2>Skipped combinations</h2>", bullet_list(result["notes"])]
    return document(f"{name}: board by board", parts)


def comparison(entries: Sequence[Entry]) -> list[str]:
    """Return HTML parts: the totals of all entries, a table of boards and models, and for each model a table of its
    builds and of their layers."""
    measured = [e for e in entries if e.result is not None]
    exact = sum(e.result["samples"]["bit_exact"] for e in measured if e.result is not None)
    count = sum(e.result["samples"]["count"] for e in measured if e.result is not None)
    models, boards = (list(dict.fromkeys(getattr(e, name) for e in entries)) for name in ("model", "board"))
    parts = [
        cards(
            [
                (f"{len(measured)} of {len(entries)}", "benches with a result"),
                (str(len(models)), "models"),
                (str(len(boards)), "boards"),
                (f"{exact:,} of {count:,}", "answers bit-exact with LiteRT"),
            ]
        ),
        '<p class="kind">Figures are measured; the sign ~ marks an estimate. Instructions on different cores take '
        "different times and cannot be compared.</p>",
    ]
    if len(models) > 1 and len(boards) > 1:
        parts += ["<h2>Boards and models: the fastest build</h2>", _grid(entries, models, boards)]
    for model in models:
        model_entries = [e for e in entries if e.model == model]
        parts += [f"<h2>{text(model)}</h2>", _builds(model_entries), *_layers(model_entries)]
    return parts


def speed(result: Mapping[str, Any]) -> tuple[float, str] | None:
    """Return the median cost of one inference and its unit ("instructions" or "µs"), or None if it was not measured."""
    for name, unit in (("instructions", "instructions"), ("latency_us", "µs")):
        if result["inference"][name] is not None:
            return result["inference"][name]["p50"], unit
    return None


def _grid(entries: Sequence[Entry], models: Sequence[str], boards: Sequence[str]) -> str:
    """Return a table with a row per board and a column per model: the fastest median of all builds."""
    rows = []
    for board in boards:
        cells: list[object] = [name_cell(board)]
        for model in models:
            results = [
                e.result for e in entries if (e.model, e.board) == (model, board) and e.result is not None
            ]
            medians = [s for s in map(speed, results) if s is not None]
            if not medians:
                cells.append(number_cell("-"))
                continue
            best, unit = min(medians)
            exact = all(r["samples"]["bit_exact"] == r["samples"]["count"] for r in results)
            css_class = "n" if exact else "n no"
            unit_text = "" if unit == "instructions" else f" {unit}"
            cells.append(RawCell(f'<td class="{css_class}">{best:,}{unit_text}</td>'))
        rows.append(row(*cells))
    return table(head("board", *(f"{text(m)}:n" for m in models)), rows)


def _builds(entries: Sequence[Entry]) -> str:
    """Return a table with one row per build. The length of a bar is relative to the largest figure in its column."""
    results = [e.result for e in entries if e.result is not None]
    maxima = {
        unit: max((s[0] for s in map(speed, results) if s is not None and s[1] == unit), default=0) or 1
        for unit in ("instructions", "µs")
    }
    ram = max((r["memory"]["ram_total"] for r in results), default=0) or 1
    flash = max((r["flash"]["total"] for r in results), default=0) or 1
    energy = any(r.get("energy") for r in results)
    units = sorted({s[1] for s in map(speed, results) if s is not None})
    columns = [
        "build",
        "bit-exact:n",
        "accuracy:n",
        f"{' or '.join(units) or 'one inference'}:n",
        "est. cycles:n",
    ]
    columns += ["RAM B:n", "flash B:n"] + (["energy µJ:n"] if energy else [])
    rows = []
    for e in entries:
        if e.result is None:
            rows.append(
                f'<tr>{name_cell(e.build)}<td class="no" colspan="{len(columns) - 1}">{text(e.error or "no result")}'
                "</td></tr>"
            )
            continue
        rows.append(row(name_cell(e.build), *_figures(e.result, maxima, ram, flash, energy, len(units) > 1)))
    return table(head(*columns), rows) + f'<p class="kind">RAM: {_legend(_RAM)} flash: {_legend(_FLASH)}</p>'


def _legend(parts: Sequence[tuple[str, str]]) -> str:
    return "".join(
        f'<span class="key"><i style="background:{color}"></i>{name}</span>' for name, color in parts
    )


def _figures(
    r: Mapping[str, Any], maxima: Mapping[str, float], ram: int, flash: int, energy: bool, show_unit: bool
) -> list[object]:
    """Return the cells of a build's row. ``maxima`` has the largest median by unit, ``ram`` and ``flash`` are the
    largest sizes in bytes; they determine the lengths of the bars."""
    samples = r["samples"]
    all_exact = samples["bit_exact"] == samples["count"]
    exact = RawCell(
        f'<td class="n {"yes" if all_exact else "no"}">{samples["bit_exact"]} of {samples["count"]}</td>'
    )
    accuracy = "-" if samples["accuracy"] is None else f"{samples['accuracy']:.1%}"
    median = speed(r)
    cycles = r["inference"]["cycles"]
    cells: list[object] = [exact, number_cell(accuracy)]
    if median is None:
        cells.append(number_cell("-"))
    else:
        cell_text = f"{median[0]:,}" + (f" {median[1]}" if show_unit else "")
        cells.append(_with_bar(cell_text, [(median[0] / maxima[median[1]], "var(--a)")]))
    stack = "" if r["memory"]["stack_kind"] == "measured" else "~"
    cells += [
        number_cell("-" if cycles is None else f"~{cycles['p50']:,}"),
        _with_bar(f"{stack}{r['memory']['ram_total']:,}", [(r["memory"][k] / ram, c) for k, c in _RAM]),
        _with_bar(f"{r['flash']['total']:,}", [(r["flash"][k] / flash, c) for k, c in _FLASH]),
    ]
    if energy:
        energy_figure = (r.get("energy") or {}).get("energy_uj_per_inference") or {}
        sign = "" if energy_figure.get("kind") == "measured" else "~"
        cell_text = (
            "-"
            if energy_figure.get("median") is None
            else f"{sign}{energy_figure['median']:,.4g} ({energy_figure.get('kind')})"
        )
        cells.append(number_cell(cell_text))
    return cells


def _with_bar(cell_text: str, parts: Sequence[tuple[float, str]]) -> RawCell:
    """Return a cell with a figure above a bar. Each of ``parts`` is (fraction of the bar's width, color)."""
    segments, left = [], 0.0
    for share, color in parts:
        segments.append((left, left + share, color))
        left += share
    bar = track(*segments).removeprefix("<td>").removesuffix("</td>")
    bar = bar.replace('class="track"', 'class="track" style="width:6rem"', 1)
    return RawCell(f'<td class="n">{text(cell_text)}<br>{bar}</td>')


def _layers(entries: Sequence[Entry]) -> list[str]:
    """Return the tables of layers. Builds of models with the same layers share a table."""
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for e in entries:
        layers = e.result["layers"] if e.result is not None else []
        if layers and any(layer["ticks"] is not None for layer in layers):
            unit = "instructions" if layers[0]["instructions"] is not None else "ticks"
            groups.setdefault((unit, *((x["op"], x["shape"]) for x in layers)), []).append(e)
    parts = []
    for (kind, *signature), group_entries in groups.items():
        rows = []
        for k, (op, shape) in enumerate(signature):
            values = [e.result["layers"][k] for e in group_entries if e.result is not None]
            rows.append(row(k, op, name_cell(shape), *(number_cell(f"{v[kind]:,}") for v in values)))
        columns = head("#:n", "operator", "output", *(f"{text(e.build)}:n" for e in group_entries))
        parts.append(
            f"<details open><summary>{len(signature)} layers, {kind} (measured)</summary>"
            f"{table(columns, rows)}</details>"
        )
    return parts
