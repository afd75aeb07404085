"""Explain why a search chose another recipe than plain int8."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.quantize.search.budget import Budget
from arenite.converters.quantize.search.outcome import TrialOutcome, rounded_loss


def choice_reason(trials: Sequence[TrialOutcome], chosen: int | None, budget: Budget, metric: str) -> str:
    """Return sentences that compare the trial ``chosen`` with plain int8, which is trial 0; "" if there is nothing to
    compare."""
    if not chosen or not trials[0].builds:
        return ""
    winner, plain = trials[chosen], trials[0]
    if not plain.meets(budget):
        return f"Plain int8 (trial 0) does not meet the budget: {'; '.join(plain.misses(budget))}."
    best, int8 = winner.build(budget), plain.build(budget)
    if rounded_loss(winner) < rounded_loss(plain):
        points = 100 * (rounded_loss(plain) - rounded_loss(winner))
        reason = "its error is smaller" if metric == "mse" else f"it loses {points:.1f} points less"
    elif best.instructions * 1.1 < int8.instructions:
        reason = f"it takes {int8.instructions - best.instructions:,} fewer instructions"
    else:
        reason = "it leaves more room at the nearest limit, with equal loss and about equal instructions"
    return (
        f"Plain int8 (trial 0) meets the budget too, with {int8.ram:,} B of RAM, {int8.flash:,} B of flash and "
        f"{int8.instructions:,} instructions, against {best.ram:,} B, {best.flash:,} B and {best.instructions:,}. "
        f"Trial {chosen} was preferred because {reason}."
    )
