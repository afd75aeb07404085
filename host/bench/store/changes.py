"""Find the changes from an earlier run to a later run, and the regressions among them.

A change is a regression in these cases (the quoted names are fields of ``RegressionRules``):

- a size grew by more than ``bytes`` (default: 0);
- an exact count of instructions grew by more than ``instructions`` (default: 0.5 %) and by more than a tick of the
  timer;
- a time or a measured energy grew by more than ``time`` (default: 5 %) and by more than the larger spread of both runs;
- the accuracy fell by more than ``accuracy`` (default: 0);
- all samples were bit-exact, and at least one is not bit-exact now.

Figures that depend on the data are compared only with a run on the same data. Estimates are shown, but are never a
regression. Regressions are found only between runs of the same model and board.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from arenite.host.bench.store.run_rows import StoredRun

#: A count of instructions may differ by this number between runs, because the timer may start anywhere within a tick.
TICK_INSTRUCTIONS = 2
SIZES = ("ram_total", "arena", "stack", "static", "flash_total", "weights", "code")
COUNTS = ("instructions", "init_instructions")
TIMES = ("latency_us", "energy_uj")
ESTIMATES = ("cycles",)
#: Figures that depend on the samples.
DATA_FIGURES = ("instructions", "cycles", "latency_us", "energy_uj", "accuracy", "bit_exact")
FIGURES = ("bit_exact", "accuracy", *COUNTS[:1], *ESTIMATES, *TIMES, *COUNTS[1:], *SIZES)
#: Titles of the figures in tables.
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
    """The allowed changes. ``bytes`` and ``accuracy`` are differences, ``instructions`` and ``time`` are fractions of
    the old value."""

    bytes: int = 0
    instructions: float = 0.005
    time: float = 0.05
    accuracy: float = 0.0

    def to_json(self) -> dict[str, float]:
        """Return the rules by name."""
        return asdict(self)


@dataclass(frozen=True)
class Change:
    """The values of one figure in an older and a newer run. ``against`` is the number of the older run. ``rule`` says
    why the change is a regression, or is None if it is not a regression."""

    figure: str
    old: float
    new: float
    against: int
    rule: str | None = None

    @property
    def share(self) -> float | None:
        """The growth as a fraction of the old value, or None if the old value is zero."""
        return (self.new - self.old) / self.old if self.old else None

    def to_json(self) -> dict[str, Any]:
        """Return the change with its growth as a fraction."""
        share = self.share
        return {**asdict(self), "share": None if share is None else round(share, 6)}


def same_data(old: StoredRun, new: StoredRun) -> bool:
    """Return whether both runs used equal samples, or the same number of samples of the same file.

    The second condition is needed because a new quantization changes the bytes of the samples.
    """
    if old.figures["data_sha256"] is not None and old.figures["data_sha256"] == new.figures["data_sha256"]:
        return True
    return (old.data, old.figures["samples"]) == (new.data, new.figures["samples"])


def value(run: StoredRun, figure: str) -> float | None:
    """Return the value of a figure of a run, or None. For ``bit_exact`` it is the number of samples with a wrong
    answer."""
    if figure == "bit_exact":
        figures = run.figures
        value: float | None = figures["samples"] - (figures["missing"] or 0) - figures["bit_exact"]
        return value
    return run.figures.get(figure)


def change(old: StoredRun, new: StoredRun, figure: str, rules: RegressionRules) -> Change | None:
    """Return the change of a figure, or None if one of the runs does not have it or the two values cannot be
    compared."""
    if figure in DATA_FIGURES and not same_data(old, new):
        return None
    a, b = value(old, figure), value(new, figure)
    if a is None or b is None:
        return None
    if figure == "energy_uj" and old.figures["energy_kind"] != new.figures["energy_kind"]:
        return None
    same_subject = (old.model, old.board) == (new.model, new.board)
    return Change(figure, a, b, old.id, _rule(old, new, figure, a, b, rules) if same_subject else None)


def _rule(
    old: StoredRun, new: StoredRun, figure: str, a: float, b: float, rules: RegressionRules
) -> str | None:
    """Return the rule that the change from the value ``a`` to the value ``b`` breaks, or None."""
    if figure == "bit_exact":
        return f"{b:g} samples are not bit-exact; before, all were" if b > a == 0 else None
    if figure == "accuracy":
        return f"fell by more than {rules.accuracy:g}" if a - b > rules.accuracy else None
    if figure in SIZES:
        return f"grew by more than {rules.bytes} B" if b - a > rules.bytes else None
    if figure in COUNTS:
        is_larger = b - a > max(rules.instructions * a, TICK_INSTRUCTIONS)
        return f"grew by more than {rules.instructions:.2%}" if is_larger else None
    measured = figure != "energy_uj" or new.figures["energy_kind"] == "measured"
    if figure in TIMES and measured:
        spread = max(_spread(old, figure), _spread(new, figure))
        if b - a > rules.time * a and b - a > spread:
            return f"grew by more than {rules.time:.1%} and more than the spread of {spread:,.1f}"
    return None


def _spread(run: StoredRun, figure: str) -> float:
    """Return the spread of a figure in a run: the 95th percentile minus the median for times, half the interquartile
    range for energies."""
    if figure == "latency_us":
        p95_us = run.figures["latency_p95_us"]
        return 0.0 if p95_us is None else p95_us - run.figures["latency_us"]
    low, high = run.figures.get("energy_p25_uj"), run.figures.get("energy_p75_uj")
    return 0.0 if low is None or high is None else (high - low) / 2


def changes(earlier: Sequence[StoredRun], new: StoredRun, rules: RegressionRules) -> list[Change]:
    """Compare each figure of ``new`` with the latest run of ``earlier`` that has a comparable value. ``earlier`` is
    sorted by time. Return the changes in the order of ``FIGURES``."""
    differences = []
    for figure in FIGURES:
        for old in reversed(earlier):
            entry = change(old, new, figure, rules)
            if entry is not None:
                differences.append(entry)
                break
    return differences


def layer_changes(old: StoredRun, new: StoredRun) -> list[dict[str, Any]]:
    """Return one row per layer index, with pairs [value of the old run, value of the new run]. A value is None if a run
    has no such layer or did not count the value."""
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
