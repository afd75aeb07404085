"""The outcome of one recipe: the memory and instructions that its model image needs, its score, and its violations of
a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arenite.converters.quantize.search.budget import Budget

#: The version of the format in which outcomes are stored. A file with another version is rejected.
FORMAT = 2


@dataclass(frozen=True)
class BuildCost:
    """The costs of one way to build a model image for the board. ``ram`` and ``flash`` are the bytes that ``fit``
    predicts; ``instructions`` per inference are an estimate."""

    options: str  # command-line options, e.g. "--optimise speed"
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
    """A recipe that was tried. ``params`` are its parameters in the ``SearchSpace``. ``score`` and ``drop`` (the
    loss of the metric) are measured on the samples of the search.

    ``deviation`` is the standard deviation of ``drop``, estimated from the number of decisions that changed (0 for
    metrics without decisions). If two recipes have the same loss, the one that changes fewer decisions will probably
    lose less on other samples. ``error`` is the reason why no model image could be built; in that case ``builds`` is
    empty and ``score`` is 0.
    """

    params: Mapping[str, Any]
    sha256: str  # hash of the quantized flatbuffer
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
    def from_json(table: Mapping[str, Any]) -> TrialOutcome:
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
        """Return the first build that meets ``budget``, or the build with the smallest violations. There must be a
        build."""
        return min(self.builds, key=lambda b: sum(_size_violations(b, budget)))

    def violations(self, budget: Budget) -> list[float]:
        """Return the violation of each limit as a share of the limit. It is 0 if the limit is met."""
        if not self.builds:
            return [1e6]  # no image: worse than every image
        excesses = _size_violations(self.build(budget), budget)
        if budget.drop is not None:
            # The violation is a share of at least one percentage point, so that a limit of 0 does not give an
            # infinite violation.
            excesses.append(max(0.0, self.drop - budget.drop - 1e-12) / max(budget.drop, 0.01))
        if budget.accuracy is not None:
            excesses.append(max(0.0, budget.accuracy - self.score - 1e-12) / 0.01)
        return excesses

    def meets(self, budget: Budget) -> bool:
        return not any(self.violations(budget))

    def figures(self, budget: Budget) -> dict[str, float]:
        """Return the value of each objective for the build that ``build`` selects."""
        b = self.build(budget)
        return {"drop": self.drop, "flash": b.flash, "ram": b.ram, "instructions": b.instructions}

    def misses(self, budget: Budget) -> list[str]:
        """Return a phrase for each limit that is not met."""
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
            out.append(f"reaches {self.score:.2%}, {budget.accuracy:.2%} are required")
        return out


def objectives(budget: Budget) -> tuple[str, ...]:
    """Return the objectives of the search: the loss and flash, which recipes change most, and RAM and instructions if
    the budget limits them."""
    limited = [o for o in ("ram", "instructions") if getattr(budget, o) is not None]
    return ("drop", "flash", *limited)


def pareto_front(
    outcomes: Sequence[TrialOutcome], budget: Budget, objective_names: Sequence[str]
) -> list[int]:
    """Return the indices of the outcomes on the Pareto front of the named objectives, by ascending flash.

    If several outcomes are equal, only the first is included.
    """
    points = [
        None if not o.builds else tuple(o.figures(budget)[k] for k in objective_names) for o in outcomes
    ]

    def is_dominated(index: int) -> bool:
        point = points[index]
        assert point is not None
        return any(
            other is not None
            and all(a <= b for a, b in zip(other, point, strict=True))
            and (other != point or k < index)
            for k, other in enumerate(points)
            if k != index
        )

    best = [k for k, p in enumerate(points) if p is not None and not is_dominated(k)]
    return sorted(best, key=lambda k: (outcomes[k].figures(budget)["flash"], k))


def rank_outcomes(outcomes: Sequence[TrialOutcome], budget: Budget) -> list[int]:
    """Return the indices of the outcomes that meet ``budget``, the best first: by the loss plus one standard deviation,
    then by instructions, then by the larger share of a memory limit that is taken, then by flash, then by RAM.

    Losses that differ by less than a tenth of a point count as equal. Instructions are estimates, so numbers that
    differ by less than 10 % count as equal. Shares of the limits are rounded to 1 %.
    """
    figures = {k: o.figures(budget) for k, o in enumerate(outcomes) if o.builds and o.meets(budget)}
    losses = {k: rounded_loss(outcomes[k]) for k in figures}
    shares = {k: round(_tightest_share(outcomes[k].build(budget), budget), 2) for k in figures}
    order: list[int] = []
    while len(order) < len(figures):
        remaining = [k for k in figures if k not in order]
        min_loss = min(losses[k] for k in remaining)
        best = [k for k in remaining if losses[k] == min_loss]
        fastest = min(figures[k]["instructions"] for k in best)
        fast = [k for k in best if figures[k]["instructions"] <= 1.1 * fastest]
        order.append(min(fast, key=lambda k: (shares[k], figures[k]["flash"], figures[k]["ram"], k)))
    return order


def rounded_loss(outcome: TrialOutcome) -> float:
    """Return the loss plus one standard deviation, rounded to a tenth of a percentage point, so that smaller
    differences do not decide which recipe is better."""
    return round(outcome.drop + outcome.deviation, 3)


def _tightest_share(b: BuildCost, budget: Budget) -> float:
    """Return the share of the RAM limit or the flash limit that ``b`` takes, whichever is larger, or 0 if there are no
    limits."""
    pairs = ((b.ram, budget.ram), (b.flash, budget.flash))
    return max((value / limit for value, limit in pairs if limit is not None), default=0.0)


def _size_violations(b: BuildCost, budget: Budget) -> list[float]:
    """Return the violations of the limits of RAM, flash and instructions, as shares of the limits."""
    pairs = ((b.ram, budget.ram), (b.flash, budget.flash), (b.instructions, budget.instructions))
    return [0.0 if limit is None else max(0.0, (value - limit) / limit) for value, limit in pairs]
