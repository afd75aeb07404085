"""Make the section of a conversion's HTML report on a recipe search: the recipes that were tried, and their Pareto
front."""

from __future__ import annotations

from arenite.converters.quantize.search.outcome import TrialOutcome
from arenite.converters.quantize.search.recipe_search import SearchResult, label
from arenite.host.report.conversion_scores import loss_text
from arenite.host.report.front_svg import front_svg
from arenite.host.report.html_parts import RawCell, head, name_cell, row, table, text


def search_section(search: SearchResult) -> list[str]:
    """Return HTML parts: a sentence on the search and the chosen recipe, a picture, and tables of the recipes that were
    tried."""
    tried = len(search.trials)
    resumed_text = f", {search.resumed} of them in an earlier run" if search.resumed else ""
    parts = [
        "<h2>Search</h2>",
        f"<p>{tried} recipes were tried{resumed_text}, within {text(_budget(search))}. {text(_answer(search))}</p>",
        f'<div class="scroll wide">{front_svg(search.to_json())}</div>',
        "<h2>Pareto front</h2>",
        '<p class="kind">None of the other recipes is better in all of '
        f"{text(', '.join(search.objective_names))}. Losses are measured with fast kernels on the samples of the "
        "search. Bytes are those that `arenite fit` predicts. The sign ~ marks an estimate.</p>",
        _table(search, list(search.front)),
    ]
    others = [k for k in range(tried) if k not in search.front]
    if others:
        table_of_others = _table(search, others)
        parts.append(f"<details><summary>{len(others)} other recipes</summary>{table_of_others}</details>")
    return parts


def _budget(search: SearchResult) -> str:
    """Return the limits of the search as text."""
    budget = search.budget
    limits = [
        f"{name} {value:,}{unit}"
        for name, value, unit in (
            ("RAM", budget.ram, " B"),
            ("flash", budget.flash, " B"),
            ("instructions", budget.instructions, ""),
        )
        if value is not None
    ]
    if budget.drop is not None:
        limits.append(f"a loss of {100 * budget.drop:g} points")
    if budget.accuracy is not None:
        limits.append(f"at least {budget.accuracy:.2%}")
    return ", ".join(limits)


def _answer(search: SearchResult) -> str:
    """Return a sentence on the chosen recipe, or on the recipe that misses the budget by the least."""
    if search.chosen is None:
        unmet_limits = "; ".join(search.trials[search.nearest].misses(search.budget))
        return f"No recipe meets the budget. The nearest is trial {search.nearest}: {unmet_limits}."
    c = search.chosen
    unit = "" if search.base.metric == "mse" else " points"
    return (
        f"Trial {c.place} was chosen: {c.score}, {loss_text(search.base, c.drop)}{unit} lost with the reference "
        f"kernels. Build it with {c.build.options}."
    )


def _table(search: SearchResult, trial_numbers: list[int]) -> str:
    columns = ("trial:n", "recipe", "score:n", "lost:n", "RAM B:n", "flash B:n", "instructions:n", "budget")
    return table(head(*columns), (_row(search, k, search.trials[k]) for k in trial_numbers))


def _row(search: SearchResult, trial_number: int, outcome: TrialOutcome) -> str:
    name = name_cell(label(search.space, outcome))
    if not outcome.builds:
        return row(trial_number, name, "-", "-", "-", "-", "-", outcome.error or "cannot be built")
    build = outcome.build(search.budget)
    misses = outcome.misses(search.budget)
    verdict = (
        RawCell('<td class="yes">met</td>')
        if not misses
        else RawCell(f'<td class="no name">{text("; ".join(misses))}</td>')
    )
    if search.chosen is not None and trial_number == search.chosen.place:
        verdict = RawCell('<td class="yes">met, chosen</td>')
    lost = loss_text(search.base, outcome.drop)
    value = f"{outcome.score:.4g}" if search.base.metric == "mse" else f"{outcome.score:.2%}"
    return row(
        trial_number,
        name,
        value,
        lost,
        f"{build.ram:,}",
        f"{build.flash:,}",
        f"~{build.instructions:,}",
        verdict,
    )
