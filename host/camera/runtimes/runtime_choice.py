"""What was measured of each runtime, and which is taken: plain values and the rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

#: What a runtime must gain over a simpler one to be worth its threads, power and driver.
MIN_GAIN = 0.10
#: Largest difference of outputs, in parts of the range of the CPU's. float16 accelerators stay below 1 %.
MAX_DIFFERENCE = 0.05
#: An integer output that hardly varies has at least this range, in quantisation steps: 3 steps are always allowed.
_MIN_STEPS = 64


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """One candidate. ``difference``: of its outputs from the CPU's, in parts of their range; ``problem``: why it
    cannot be taken, empty when it can. Times are of one invocation, measured warm."""

    name: str
    threads: int
    median_ms: float | None = None
    p90_ms: float | None = None
    energy_mj: float | None = None
    resident_bytes: int | None = None
    difference: float | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self.name if self.threads == 1 else f"{self.name}, {self.threads} threads"


@dataclass(frozen=True, slots=True)
class RuntimeChoice:
    """``measured``: in the order of trial, simplest first; ``remembered``: from an earlier run on this device."""

    name: str
    threads: int
    measured: tuple[CandidateResult, ...]
    reason: str
    remembered: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, made: dict[str, Any]) -> RuntimeChoice:
        rows = tuple(CandidateResult(**{**row, "notes": tuple(row["notes"])}) for row in made["measured"])
        return cls(made["name"], made["threads"], rows, made["reason"], made["remembered"])

    def rows(self) -> list[tuple[str, str, str, str]]:
        """For a table: runtime, ms, mJ, and why it was or was not taken."""
        made = []
        for each in self.measured:
            taken = (each.name, each.threads) == (self.name, self.threads)
            ms = f"{each.median_ms:.3f}" if each.median_ms is not None else "-"
            mj = f"{each.energy_mj:.3f}" if each.energy_mj is not None else "-"
            why = "taken" if taken else each.problem or "too little gain, or slower"
            made.append((each.label, ms, mj, "; ".join([why, *each.notes])))
        return made


def difference(outputs: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """Largest |outputs - reference| over all outputs, each in parts of the range of its reference; inf when the shapes
    differ or a value is not a number."""
    if [each.shape for each in outputs] != [each.shape for each in reference]:
        return float("inf")
    worst = 0.0
    for ours, theirs in zip(outputs, reference, strict=True):
        if not theirs.size:
            continue
        a, b = ours.astype(np.float64), theirs.astype(np.float64)
        if not np.isfinite(a[np.isfinite(b)]).all():
            return float("inf")
        integers = theirs.dtype.kind in "iub" and theirs.dtype.itemsize == 1
        least = _MIN_STEPS if integers else 1e-6
        finite = np.isfinite(b)
        span = max(float(np.ptp(b[finite])) if finite.any() else 0.0, least)
        worst = max(worst, float(np.max(np.abs(a - b)[finite], initial=0.0)) / span)
    return worst


def choose_candidate(
    measured: Sequence[CandidateResult], by: str = "latency"
) -> tuple[CandidateResult, str] | None:
    """The candidate to take and why; None when none can be taken. ``by``: ``latency`` or ``energy``.

    Candidates come simplest first, and a later one must be 10 % better than the best so far.
    """
    usable = [each for each in measured if not each.problem and each.median_ms is not None]
    if not usable:
        return None
    if by == "energy":
        usable = [each for each in usable if each.energy_mj is not None] or usable
    best = usable[0]
    for each in usable[1:]:
        if _cost(each, by) < (1 - MIN_GAIN) * _cost(best, by):
            best = each
    first = usable[0]
    if best is first:
        tried = len(measured) - 1
        return (
            best,
            f"{best.label}: none of {tried} others is 10 % better."
            if tried
            else f"{best.label}: the only one.",
        )
    times = _cost(first, by) / _cost(best, by)
    unit = "mJ" if by == "energy" and best.energy_mj is not None else "ms"
    return best, (
        f"{best.label}: {_cost(best, by):.3f} {unit}, {times:.2f} times better than {first.label} "
        f"({_cost(first, by):.3f} {unit})."
    )


def _cost(each: CandidateResult, by: str) -> float:
    if by == "energy" and each.energy_mj is not None:
        return each.energy_mj
    return each.median_ms if each.median_ms is not None else float("inf")
