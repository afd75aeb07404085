"""The section of a conversion's report on a search: the recipes that it tried, and their Pareto front."""

from __future__ import annotations

from arenite.converters.quantize.search.outcome import TrialOutcome
from arenite.converters.quantize.search.recipe_search import SearchResult, label
from arenite.host.report.conversion_scores import loss_text
from arenite.host.report.front_svg import front_svg
from arenite.host.report.html_parts import RawCell, head, name_cell, row, table, text


def search_section(search: SearchResult) -> list[str]:
    """Return the section on the recipes that were tried, the chosen one, and a drawing of the front."""
    tried = len(search.trials)
    before = f", {search.resumed} of them in an earlier run" if search.resumed else ""
    parts = [
        "<h2>Search</h2>",
        f"<p>{tried} recipes were tried{before}, within {text(_budget(search))}. {text(_answer(search))}</p>",
        f'<div class="scroll wide">{front_svg(search.to_json())}</div>',
        "<h2>Pareto front</h2>",
        '<p class="kind">None of the other recipes is better in all of '
        f"{text(', '.join(search.over))}. Losses are those of fast kernels on the search's samples, bytes those that "
        "`arenite fit` predicts. The sign ~ marks an estimate.</p>",
        _table(search, list(search.front)),
    ]
    others = [k for k in range(tried) if k not in search.front]
    if others:
        more = _table(search, others)
        parts.append(f"<details><summary>{len(others)} other recipes</summary>{more}</details>")
    return parts


def _budget(search: SearchResult) -> str:
    b = search.budget
    limits = [
        f"{what} {value:,}{unit}"
        for what, value, unit in (
            ("RAM", b.ram, " B"),
            ("flash", b.flash, " B"),
            ("instructions", b.instructions, ""),
        )
        if value is not None
    ]
    if b.drop is not None:
        limits.append(f"a loss of {100 * b.drop:g} points")
    if b.accuracy is not None:
        limits.append(f"at least {b.accuracy:.2%}")
    return ", ".join(limits)


def _answer(search: SearchResult) -> str:
    if search.chosen is None:
        missed = "; ".join(search.trials[search.nearest].misses(search.budget))
        return f"None meets the budget. The nearest is trial {search.nearest}: {missed}."
    c = search.chosen
    unit = "" if search.base.metric == "mse" else " points"
    return (
        f"Trial {c.place} was chosen: {c.score}, {loss_text(search.base, c.drop)}{unit} lost with the reference "
        f"kernels. Build it with {c.build.options}."
    )


def _table(search: SearchResult, places: list[int]) -> str:
    columns = ("trial:n", "recipe", "score:n", "lost:n", "RAM B:n", "flash B:n", "instructions:n", "budget")
    return table(head(*columns), (_row(search, k, search.trials[k]) for k in places))


def _row(search: SearchResult, place: int, o: TrialOutcome) -> str:
    name = name_cell(label(search.space, o))
    if not o.builds:
        return row(place, name, "-", "-", "-", "-", "-", o.error or "cannot be built")
    b = o.build(search.budget)
    misses = o.misses(search.budget)
    verdict = (
        RawCell('<td class="yes">met</td>')
        if not misses
        else RawCell(f'<td class="no name">{text("; ".join(misses))}</td>')
    )
    if search.chosen is not None and place == search.chosen.place:
        verdict = RawCell('<td class="yes">met, chosen</td>')
    lost = loss_text(search.base, o.drop)
    value = f"{o.score:.4g}" if search.base.metric == "mse" else f"{o.score:.2%}"
    return row(place, name, value, lost, f"{b.ram:,}", f"{b.flash:,}", f"~{b.instructions:,}", verdict)
