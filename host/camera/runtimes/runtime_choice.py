"""Measurements of runtimes, and the rule that chooses one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

#: A runtime is chosen over a simpler one only when it is better by this share: it costs threads, power or a driver.
MIN_GAIN = 0.10
#: The largest difference of outputs from the CPU's, as a share of their range. float16 accelerators stay below 1 %.
MAX_DIFFERENCE = 0.05
#: The smallest range of an integer output, in quantization steps, so that a difference of 3 steps is always allowed.
_MIN_STEPS = 64


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The measurement of one candidate. ``difference`` is that of its outputs from the CPU's, as a share of their
    range. ``problem`` says why it cannot be used, and is empty when it can. Times are of one warm invocation."""

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
    """The chosen runtime. ``measured`` has all candidates, simplest first; ``remembered`` says that the choice was made
    in an earlier run on this device."""

    name: str
    threads: int
    measured: tuple[CandidateResult, ...]
    reason: str
    remembered: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> RuntimeChoice:
        rows = tuple(CandidateResult(**{**row, "notes": tuple(row["notes"])}) for row in record["measured"])
        return cls(record["name"], record["threads"], rows, record["reason"], record["remembered"])

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return rows of a table: runtime, ms, mJ, and why it was or was not chosen."""
        rows = []
        for each in self.measured:
            chosen = (each.name, each.threads) == (self.name, self.threads)
            ms = f"{each.median_ms:.3f}" if each.median_ms is not None else "-"
            mj = f"{each.energy_mj:.3f}" if each.energy_mj is not None else "-"
            why = "chosen" if chosen else each.problem or "too little gain, or slower"
            rows.append((each.label, ms, mj, "; ".join([why, *each.notes])))
        return rows


def difference(outputs: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """Return the largest |outputs - reference| of all outputs, each as a share of the range of its reference; inf when
    the shapes differ or a value is NaN."""
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
        min_span = _MIN_STEPS if integers else 1e-6
        finite = np.isfinite(b)
        span = max(float(np.ptp(b[finite])) if finite.any() else 0.0, min_span)
        worst = max(worst, float(np.max(np.abs(a - b)[finite], initial=0.0)) / span)
    return worst


def choose_candidate(
    measured: Sequence[CandidateResult], by: str = "latency"
) -> tuple[CandidateResult, str] | None:
    """Return the candidate to use and the reason; None when none can be used. ``by`` is ``latency`` or ``energy``.

    Candidates are ordered simplest first, and a later one must be 10 % better than the best so far.
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
            f"{best.label}: no other candidate is 10 % better."
            if tried
            else f"{best.label}: the only candidate.",
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
