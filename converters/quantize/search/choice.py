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
    ours, theirs = winner.build(budget), plain.build(budget)
    if rounded_loss(winner) < rounded_loss(plain):
        points = 100 * (rounded_loss(plain) - rounded_loss(winner))
        reason = "its error is smaller" if metric == "mse" else f"it loses {points:.1f} points less"
    elif ours.instructions * 1.1 < theirs.instructions:
        reason = f"it takes {theirs.instructions - ours.instructions:,} instructions less"
    else:
        reason = "it leaves more room at the nearest limit, with equal loss and about equal instructions"
    return (
        f"Plain int8 (trial 0) meets the budget too, with {theirs.ram:,} B of RAM, {theirs.flash:,} B of flash and "
        f"{theirs.instructions:,} instructions, against {ours.ram:,} B, {ours.flash:,} B and {ours.instructions:,}. "
        f"Trial {chosen} was preferred because {reason}."
    )
