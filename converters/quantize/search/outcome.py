"""The outcome of one recipe: the memory and instructions of its image, its score, and its distance from a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arenite.converters.quantize.search.budget import Budget

#: The version of stored outcomes; a search's file with another one is refused.
FORMAT = 2

#: The objectives of a recipe; less is better.
OBJECTIVES = ("drop", "flash", "ram", "instructions")


@dataclass(frozen=True)
class BuildCost:
    """One way to build an image for the board: bytes as fit predicts them, instructions per inference estimated."""

    options: str  # as the command line takes them, e.g. "--optimise speed"
    ram: int
    flash: int
    instructions: int

    def to_json(self) -> dict[str, Any]:
        return {
            "options": self.options,
            "ram": self.ram,
            "flash": self.flash,
            "instructions": {"value": self.instructions, "kind": "estimated"},
        }


@dataclass(frozen=True)
class TrialOutcome:
    """A recipe that was tried. ``params`` are the choices of the space; ``score`` and ``drop`` on the search's samples.

    ``deviation``: standard deviation of ``drop``, from how many decisions changed (0 for metrics without decisions): of
    two recipes that lose as much, the one that changes fewer will more probably lose as little on other samples.
    ``error``: why there is no image; then ``builds`` is empty and ``score`` 0.
    """

    params: Mapping[str, Any]
    sha256: str  # of the quantized flatbuffer
    builds: tuple[BuildCost, ...]
    score: float
    drop: float
    deviation: float = 0.0
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "params": dict(self.params),
            "sha256": self.sha256,
            "builds": [b.to_json() for b in self.builds],
            "score": self.score,
            "drop": self.drop,
            "deviation": self.deviation,
            "error": self.error,
        }

    @staticmethod
    def of_json(table: Mapping[str, Any]) -> TrialOutcome:
        builds = tuple(
            BuildCost(b["options"], b["ram"], b["flash"], b["instructions"]["value"]) for b in table["builds"]
        )
        return TrialOutcome(
            table["params"],
            table["sha256"],
            builds,
            table["score"],
            table["drop"],
            table["deviation"],
            table["error"],
        )

    def build(self, budget: Budget) -> BuildCost:
        """Return the build that misses ``budget`` least; of those that meet it the first. There must be one."""
        return min(self.builds, key=lambda b: sum(_size_violations(b, budget)))

    def violations(self, budget: Budget) -> list[float]:
        """Return the amount by which each limit is missed, as a share of the limit; 0 where it is met."""
        if not self.builds:
            return [1e6]
        excesses = _size_violations(self.build(budget), budget)
        if budget.drop is not None:
            # In units of at least one point: losing two points with a limit of none is not infinitely bad.
            excesses.append(max(0.0, self.drop - budget.drop - 1e-12) / max(budget.drop, 0.01))
        if budget.accuracy is not None:
            excesses.append(max(0.0, budget.accuracy - self.score - 1e-12) / 0.01)
        return excesses

    def meets(self, budget: Budget) -> bool:
        return not any(self.violations(budget))

    def figures(self, budget: Budget) -> dict[str, float]:
        """Return the value of each objective, of the build for ``budget``."""
        b = self.build(budget)
        return {"drop": self.drop, "flash": b.flash, "ram": b.ram, "instructions": b.instructions}

    def misses(self, budget: Budget) -> list[str]:
        """Return a phrase for each limit that is missed."""
        if not self.builds:
            return [self.error or "it cannot be built"]
        b, out = self.build(budget), []
        for key in ("ram", "flash", "instructions"):
            limit, value = getattr(budget, key), getattr(b, key)
            if limit is not None and value > limit:
                unit = "instructions" if key == "instructions" else f"B of {key}"
                out.append(f"{value - limit:,} {unit} too much ({value:,} of {limit:,})")
        if budget.drop is not None and self.drop > budget.drop + 1e-12:
            out.append(f"loses {100 * self.drop:.2f} points, {100 * budget.drop:g} are allowed")
        if budget.accuracy is not None and self.score < budget.accuracy - 1e-12:
            out.append(f"reaches {self.score:.2%} of {budget.accuracy:.2%}")
        return out


def objectives(budget: Budget) -> tuple[str, ...]:
    """Return the objectives of the search: the loss and flash, which recipes change most, and the other limits of the
    budget."""
    named = [o for o in ("ram", "instructions") if getattr(budget, o) is not None]
    return ("drop", "flash", *named)


def pareto_front(outcomes: Sequence[TrialOutcome], budget: Budget, over: Sequence[str]) -> list[int]:
    """Indices of the outcomes that no other one beats in all of the objectives ``over``, by ascending flash.

    Only the first of equal outcomes is included.
    """
    points = [None if not o.builds else tuple(o.figures(budget)[k] for k in over) for o in outcomes]

    def beaten(index: int) -> bool:
        mine = points[index]
        assert mine is not None
        return any(
            other is not None
            and all(a <= b for a, b in zip(other, mine, strict=True))
            and (other != mine or k < index)
            for k, other in enumerate(points)
            if k != index
        )

    best = [k for k, p in enumerate(points) if p is not None and not beaten(k)]
    return sorted(best, key=lambda k: (outcomes[k].figures(budget)["flash"], k))


def rank_outcomes(outcomes: Sequence[TrialOutcome], budget: Budget) -> list[int]:
    """Indices of the outcomes that meet ``budget``, the best first: by the loss plus one standard deviation, then by
    instructions, then by flash, then by RAM.

    Losses within a tenth of a point are equal, and so are instructions, which are estimates, within a tenth.
    """
    figures = {k: o.figures(budget) for k, o in enumerate(outcomes) if o.builds and o.meets(budget)}
    losses = {k: round(outcomes[k].drop + outcomes[k].deviation, 3) for k in figures}
    order: list[int] = []
    while len(order) < len(figures):
        left = [k for k in figures if k not in order]
        least = min(losses[k] for k in left)
        left = [k for k in left if losses[k] == least]
        fastest = min(figures[k]["instructions"] for k in left)
        fast = [k for k in left if figures[k]["instructions"] <= 1.1 * fastest]
        order.append(min(fast, key=lambda k: (figures[k]["flash"], figures[k]["ram"], k)))
    return order


def _size_violations(b: BuildCost, budget: Budget) -> list[float]:
    pairs = ((b.ram, budget.ram), (b.flash, budget.flash), (b.instructions, budget.instructions))
    return [0.0 if limit is None else max(0.0, (value - limit) / limit) for value, limit in pairs]
