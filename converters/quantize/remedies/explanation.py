"""Explain in a sentence or two why a recipe was chosen."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.quantize.remedies.tried_recipe import TriedRecipe


def explanation(tried: Sequence[TriedRecipe], chosen: int, limit: float, metric: str) -> str:
    """Return sentences on the choice of ``tried[chosen]``.

    Args:
        tried: the recipes in the order in which they were tried; the first is the recipe of the user.
        chosen: the index of the chosen recipe.
        limit: the largest loss, as a fraction.
        metric: the metric of the loss.
    """
    first, best = tried[0], tried[chosen]
    if not best.meets(limit):
        return (
            f"None of {len(tried)} recipes loses at most {_loss(limit, metric)}. The best is '{best.label}', which"
            f" loses {_loss(best.drop, metric)}. Try more calibration samples that resemble the data of the score, or"
            " quantization-aware training, or --recipe float16 for a host computer."
        )
    if chosen == 0:
        return f"'{first.label}' loses {_loss(first.drop, metric)}; the limit is {_loss(limit, metric)}."
    sentence = (
        f"'{first.label}' loses {_loss(first.drop, metric)}; the limit is {_loss(limit, metric)}. '{best.label}' loses"
        f" {_loss(best.drop, metric)} and is the cheapest of {len(tried)} recipes that meets it"
    )
    return f"{sentence}{_cost_against(first, best)}.{_cost_of_int16(tried, chosen)}"


def _loss(drop: float, metric: str) -> str:
    if metric == "mse":
        return f"{drop:.1%} (growth of the mse)"
    return f"{100 * drop:.2f} points"


def _cost_against(first: TriedRecipe, best: TriedRecipe) -> str:
    """Return the rest of a sentence that compares the costs of both recipes."""
    if first.cost is None or best.cost is None:
        return ""
    ratio = best.cost.instructions / max(first.cost.instructions, 1)
    if best.int16_layers == () and round(ratio, 1) == 1 and best.cost.arena == first.cost.arena:
        return ", at no cost on the device"
    arena = best.cost.arena - first.cost.arena
    return f", with {ratio:.1f} times the instructions (estimated) and {arena:+,} B of arena"


def _cost_of_int16(tried: Sequence[TriedRecipe], chosen: int) -> str:
    """Return a sentence with the instructions of int16 in all layers, if another recipe was chosen."""
    all_int16 = next((t for t in tried if t.int16_layers is None and t.cost is not None), None)
    first = tried[0]
    if all_int16 is None or all_int16 is tried[chosen] or all_int16.cost is None or first.cost is None:
        return ""
    ratio = all_int16.cost.instructions / max(first.cost.instructions, 1)
    return f" int16 in all layers would take {ratio:.1f} times the instructions (estimated)."
