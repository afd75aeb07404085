"""Show the recipes that ``convert --auto`` tried, with their losses and costs: for the console and the HTML report."""

from __future__ import annotations

from arenite.converters.quantize.remedies.remedy_search import RemedyResult
from arenite.converters.quantize.remedies.tried_recipe import TriedRecipe
from arenite.host.report.console import table as console_table
from arenite.host.report.html_parts import RawCell, head, name_cell, row, table, text

_COLUMNS = ("recipe", "lost", "weight bytes", "arena", "instructions (est.)", "limit")


def remedy_table(remedy: RemedyResult) -> object:
    """Return the console table of all recipes that were tried, in order."""
    rows = [(t.label, *_figures(remedy, t), _verdict(remedy, index)) for index, t in enumerate(remedy.tried)]
    return console_table(f"Recipes tried for a loss of at most {_limit(remedy)}", _COLUMNS, rows)


def remedy_section(remedy: RemedyResult, board: str) -> list[str]:
    """Return HTML parts: the reason for the choice, and a table of the recipes. ``board`` is the board of the costs."""
    rows = []
    for index, t in enumerate(remedy.tried):
        kind = "yes" if t.meets(remedy.limit) else "no"
        verdict = RawCell(f'<td class="{kind}">{text(_verdict(remedy, index))}</td>')
        rows.append(row(name_cell(t.label), *_figures(remedy, t), verdict))
    return [
        "<h2>Recipes tried</h2>",
        f"<p>{text(remedy.reason)}</p>",
        table(head(*(f"{c}:n" if c not in ("recipe", "limit") else c for c in _COLUMNS)), rows),
        f'<p class="kind">Arena and instructions are predicted for {text(board)} with --optimise speed; instructions '
        "are an estimate.</p>",
    ]


def _limit(remedy: RemedyResult) -> str:
    return f"{remedy.limit:.1%} of the mse" if remedy.metric == "mse" else f"{100 * remedy.limit:g} points"


def _figures(remedy: RemedyResult, t: TriedRecipe) -> tuple[str, str, str, str]:
    if t.cost is None:
        return "-", "-", "-", "-"
    lost = f"{t.drop:.2%}" if remedy.metric == "mse" else f"{100 * t.drop:.2f} points"
    return lost, f"{t.weight_bytes:,}", f"{t.cost.arena:,}", f"~{t.cost.instructions:,}"


def _verdict(remedy: RemedyResult, index: int) -> str:
    t = remedy.tried[index]
    if t.error is not None:
        return t.error
    met = "met" if t.meets(remedy.limit) else "missed"
    return f"{met}, chosen" if index == remedy.chosen else met
