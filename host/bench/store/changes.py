"""The changes from one run to another, and the regressions among them.

The rules: a size that grew by more than ``bytes`` (0 by default) is a regression; so are exact counts of
instructions that grew by more than ``instructions`` (0.5 %) and by more than the timer's tick; times and
measured energies that grew by more than ``time`` (5 %) and by more than either run's own spread; an accuracy
that fell by more than ``accuracy`` (0); any output that was right and is no longer. Figures that depend on
the data are compared only with a run on the same data. Estimates are shown, but are never a regression, and
other models or boards are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from arenite.host.bench.store.run_rows import StoredRun

#: A count of instructions may differ by this much from run to run: the timer may start anywhere within one of
#: its ticks.
TICK = 2
SIZES = ("ram_total", "arena", "stack", "static", "flash_total", "weights", "code")
COUNTS = ("instructions", "init_instructions")
TIMES = ("latency_us", "energy_uj")
ESTIMATES = ("cycles",)
#: Figures that depend on the samples.
DATA_FIGURES = ("instructions", "cycles", "latency_us", "energy_uj", "accuracy", "bit_exact")
FIGURES = ("bit_exact", "accuracy", *COUNTS[:1], *ESTIMATES, *TIMES, *COUNTS[1:], *SIZES)
#: Names of the figures for people.
TITLES = {
    "bit_exact": "samples that are not bit-exact",
    "accuracy": "accuracy",
    "instructions": "instructions per inference",
    "cycles": "cycles per inference (estimated)",
    "latency_us": "latency µs, median",
    "energy_uj": "energy µJ per inference",
    "init_instructions": "instructions before the first layer",
    "ram_total": "total RAM B",
    "arena": "arena B",
    "stack": "stack B",
    "static": "static RAM B",
    "flash_total": "total flash B",
    "weights": "flash: weights B",
    "code": "flash: code B",
}


@dataclass(frozen=True)
class RegressionRules:
    """Allowed growth: ``bytes`` and ``accuracy`` absolute, ``instructions`` and ``time`` as shares."""

    bytes: int = 0
    instructions: float = 0.005
    time: float = 0.05
    accuracy: float = 0.0

    def to_json(self) -> dict[str, float]:
        """The rules by name."""
        return asdict(self)


@dataclass(frozen=True)
class Change:
    """One figure of two runs. ``against``: number of the older run; ``rule``: why it is a regression, or
    None."""

    figure: str
    old: float
    new: float
    against: int
    rule: str | None = None

    @property
    def share(self) -> float | None:
        """Growth as a share of the old value; None from zero."""
        return (self.new - self.old) / self.old if self.old else None

    def to_json(self) -> dict[str, Any]:
        """The change with its growth as a share."""
        share = self.share
        return {**asdict(self), "share": None if share is None else round(share, 6)}


def same_data(old: StoredRun, new: StoredRun) -> bool:
    """The same bytes, or as many samples of the same file (a new quantisation changes their bytes)."""
    if old.figures["data_sha256"] is not None and old.figures["data_sha256"] == new.figures["data_sha256"]:
        return True
    return (old.data, old.figures["samples"]) == (new.data, new.figures["samples"])


def value(run: StoredRun, figure: str) -> float | None:
    """A figure of a run; ``bit_exact`` is returned as the number of wrong answers."""
    if figure == "bit_exact":
        figures = run.figures
        value: float | None = figures["samples"] - (figures["missing"] or 0) - figures["bit_exact"]
        return value
    return run.figures.get(figure)


def change(old: StoredRun, new: StoredRun, figure: str, rules: RegressionRules) -> Change | None:
    """None where one of the runs has no such figure, or the figures cannot be compared."""
    if figure in DATA_FIGURES and not same_data(old, new):
        return None
    a, b = value(old, figure), value(new, figure)
    if a is None or b is None:
        return None
    if figure == "energy_uj" and old.figures["energy_kind"] != new.figures["energy_kind"]:
        return None
    alike = (old.model, old.board) == (new.model, new.board)
    return Change(figure, a, b, old.id, _rule(old, new, figure, a, b, rules) if alike else None)


def _rule(
    old: StoredRun, new: StoredRun, figure: str, a: float, b: float, rules: RegressionRules
) -> str | None:
    """The broken rule; None for none."""
    if figure == "bit_exact":
        return f"{b:g} outputs differ that were exact" if b > a == 0 else None
    if figure == "accuracy":
        return f"fell by more than {rules.accuracy:g}" if a - b > rules.accuracy else None
    if figure in SIZES:
        return f"grew by more than {rules.bytes} B" if b - a > rules.bytes else None
    if figure in COUNTS:
        grown = b - a > max(rules.instructions * a, TICK)
        return f"grew by more than {rules.instructions:.2%}" if grown else None
    measured = figure != "energy_uj" or new.figures["energy_kind"] == "measured"
    if figure in TIMES and measured:
        spread = max(_spread(old, figure), _spread(new, figure))
        if b - a > rules.time * a and b - a > spread:
            return f"grew by more than {rules.time:.1%} and more than the spread of {spread:,.1f}"
    return None


def _spread(run: StoredRun, figure: str) -> float:
    """The spread: for times from the median to the 95th percentile, for energies half the interquartile
    range."""
    if figure == "latency_us":
        top = run.figures["latency_p95_us"]
        return 0.0 if top is None else top - run.figures["latency_us"]
    low, high = run.figures.get("energy_p25_uj"), run.figures.get("energy_p75_uj")
    return 0.0 if low is None or high is None else (high - low) / 2


def changes(earlier: Sequence[StoredRun], new: StoredRun, rules: RegressionRules) -> list[Change]:
    """Each figure of ``new`` beside the latest of ``earlier`` (in order of time) that it can be compared
    with."""
    differences = []
    for figure in FIGURES:
        for old in reversed(earlier):
            entry = change(old, new, figure, rules)
            if entry is not None:
                differences.append(entry)
                break
    return differences


def layer_changes(old: StoredRun, new: StoredRun) -> list[dict[str, Any]]:
    """Layers beside each other by their index; None where a model has fewer, or they were not counted."""
    a, b = (list(run.result.get("layers") or ()) for run in (old, new))
    rows = []
    for k in range(max(len(a), len(b))):
        first, second = (layers[k] if k < len(layers) else {} for layers in (a, b))
        rows.append(
            {
                "index": k,
                "op": [first.get("op"), second.get("op")],
                "kernel": [first.get("kernel"), second.get("kernel")],
                "instructions": [first.get("instructions"), second.get("instructions")],
                "ticks": [first.get("ticks"), second.get("ticks")],
            }
        )
    return rows
