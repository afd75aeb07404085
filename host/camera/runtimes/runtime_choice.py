"""The measurements of runtimes, and the rule that chooses a runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

#: A runtime is preferred to a simpler runtime only if it is better by this share, because it needs more threads, power
#: or a driver.
MIN_GAIN = 0.10
#: The largest allowed difference between a runtime's outputs and the CPU's outputs, as a share of the range of the
#: CPU's outputs. Accelerators that compute in float16 differ by less than 1 %.
MAX_DIFFERENCE = 0.05
#: The range of an 8-bit output counts as at least this number of quantization steps, so that a difference of 3 steps is
#: always allowed.
_MIN_STEPS = 64


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The measurement of one candidate: a runtime with a number of threads.

    The times are for one invocation after the warm-up, and ``energy_mj`` is the energy of one invocation.
    ``difference`` is the difference between its outputs and the CPU's outputs, as a share of their range. ``problem``
    says why the candidate cannot be used; it is empty if it can be used.
    """

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
    """The chosen runtime. ``measured`` has all candidates, the simplest first. ``remembered`` is True if the choice was
    made in an earlier run on this device."""

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
        """Return rows of a table: runtime, time in ms, energy in mJ, and why the runtime was or was not chosen."""
        rows = []
        for result in self.measured:
            chosen = (result.name, result.threads) == (self.name, self.threads)
            ms = f"{result.median_ms:.3f}" if result.median_ms is not None else "-"
            mj = f"{result.energy_mj:.3f}" if result.energy_mj is not None else "-"
            reason = "chosen" if chosen else result.problem or "too little gain, or slower"
            rows.append((result.label, ms, mj, "; ".join([reason, *result.notes])))
        return rows


def difference(outputs: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """Return the largest absolute difference between ``outputs`` and ``reference``, as a share of the range of the
    reference output. Return inf if the shapes differ, or if a value is NaN or infinite where the reference is
    finite."""
    if [output.shape for output in outputs] != [output.shape for output in reference]:
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
    """Return the candidate to use and the reason; None if no candidate can be used. ``by`` is ``latency`` or
    ``energy``.

    The candidates are ordered, the simplest first. A later candidate must be 10 % better than the best candidate before
    it.
    """
    usable = [result for result in measured if not result.problem and result.median_ms is not None]
    if not usable:
        return None
    if by == "energy":
        usable = [result for result in usable if result.energy_mj is not None] or usable
    best = usable[0]
    for result in usable[1:]:
        if _cost(result, by) < (1 - MIN_GAIN) * _cost(best, by):
            best = result
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


def _cost(result: CandidateResult, by: str) -> float:
    if by == "energy" and result.energy_mj is not None:
        return result.energy_mj
    return result.median_ms if result.median_ms is not None else float("inf")
