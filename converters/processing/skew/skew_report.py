"""The report of a skew check: the differences of each step, and a change to try."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from arenite.errors import UsageError

SCHEMA = "arenite.skew/1"
#: The value of ``StepSkewResult.step`` if a user's pipeline is compared with all steps.
WHOLE_PIPELINE = "the pipeline as a whole"


@dataclass(frozen=True)
class StepSkewResult:
    """The comparison of one step over all samples. If nothing could be compared, ``library`` is "" and ``why`` is the
    reason.

    ``unit`` is the text after a difference: "levels" of a pixel, "steps" of a quantized input, "of the largest value"
    of a spectrum, or "in absolute value". ``allowed`` is the largest difference that counts as rounding.
    """

    step: str
    library: str  # name and version
    unit: str
    values: int = 0  # number of compared values
    differing: int = 0  # number of values that differ
    max_abs: float = 0.0  # largest difference
    mean_abs: float = 0.0  # mean difference
    allowed: float = 0.0
    why: str = ""

    @property
    def agrees(self) -> bool:
        return self.max_abs <= self.allowed

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"agrees": self.agrees}


@dataclass(frozen=True)
class SkewReport:
    """The comparison of all steps. ``first`` is the first step that differs by more than rounding, or None if all
    agree. ``samples`` is the number of samples. ``advice`` describes a change to try, or is ""."""

    steps: tuple[StepSkewResult, ...]
    samples: int
    advice: str = ""

    @property
    def first(self) -> StepSkewResult | None:
        return next((s for s in self.steps if not s.agrees), None)

    @property
    def agrees(self) -> bool:
        return self.first is None

    def sentence(self) -> str:
        """Return one or two sentences that describe the result."""
        if self.first is None:
            missing = [s.step for s in self.steps if s.why]
            more = f" Not compared: {', '.join(missing)}." if missing else ""
            return f"All steps agree with the training libraries up to rounding.{more}"
        s = self.first
        subject = "The result of all steps" if s.step == WHOLE_PIPELINE else f"The step '{s.step}'"
        share = 100 * s.differing / max(s.values, 1)
        return (
            f"{subject} differs from {s.library} by up to {s.max_abs:.4g} {s.unit} "
            f"({s.mean_abs:.4g} on average, {share:.1f} % of the values). {self.advice}".strip()
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "samples": self.samples,
            "agrees": self.agrees,
            "first": self.first.step if self.first else None,
            "advice": self.advice,
            "steps": [step.to_json() for step in self.steps],
        }


class DifferenceSums:
    """Adds up the differences of one step over all samples. ``result`` has the totals so far."""

    def __init__(self, step: str, unit: str) -> None:
        self.result = StepSkewResult(step, "", unit)
        self._total = 0.0

    def add(self, ours: np.ndarray, theirs: np.ndarray, library: str, allowed: float) -> None:
        """Add a sample: Arenite's result ``ours`` and the result ``theirs`` of ``library``."""
        if ours.shape != theirs.shape:
            raise UsageError(
                f"The step '{self.result.step}' gives the shape {ours.shape}, but {library} gives {theirs.shape}.",
                "Correct the sizes in the preprocessing's steps.",
            )
        difference = np.abs(ours.astype(np.float64) - theirs)
        self._total += float(difference.sum())
        values = self.result.values + difference.size
        self.result = replace(
            self.result,
            library=library,
            values=values,
            differing=self.result.differing + int((difference > 0).sum()),
            max_abs=max(self.result.max_abs, float(difference.max(initial=0))),
            mean_abs=self._total / max(values, 1),
            allowed=max(self.result.allowed, allowed),
        )

    def skip(self, why: str) -> None:
        """Record the reason ``why`` a sample cannot be compared."""
        self.result = replace(self.result, why=why)
