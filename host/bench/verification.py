"""Compares the devices' answers with LiteRT's reference kernels: every byte of every answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Tensor
from arenite.host.bench.devices.measure import Progress
from arenite.host.bench.reference import Reference
from arenite.host.bench.result import SampleFigures
from arenite.host.bench.samples import Samples, accuracy


class OutputVerifier:
    """LiteRT's answers, each computed once; ``stateful``: state is carried from one sample to the next."""

    def __init__(self, reference: Reference, samples: Samples, *, stateful: bool = False) -> None:
        self._reference, self._samples, self._stateful = reference, samples, stateful
        self._known: dict[int, list[np.ndarray]] = {}

    def expected(self, index: int) -> list[np.ndarray]:
        """The right outputs of one sample; with carried state they must be requested in order."""
        if index not in self._known:
            fresh = index == 0 or not self._stateful
            self._known[index] = self._reference.run(self._samples.inputs[index], reset=fresh)
        return self._known[index]


@dataclass(frozen=True)
class VerificationResult:
    """``exact``: samples whose outputs are right to the last byte; ``max_abs_diff``: None where it is not a
    number; ``accuracy``: None without labels."""

    exact: frozenset[int]
    max_abs_diff: float | None
    accuracy: float | None


def verify_all(
    verifier: OutputVerifier,
    samples: Samples,
    present: Sequence[int],
    outputs: Sequence[Sequence[np.ndarray]],
    first: Tensor | None,
    progress: Progress,
) -> VerificationResult:
    """``outputs[k]`` are those of sample ``present[k]``; missing samples do not count as right.

    ``first``: the model's first output, from which the accuracy is computed.
    """
    progress("check", 0, len(present))
    exact = set()
    differences: list[float | None] = []
    for done, (k, answer) in enumerate(zip(present, outputs, strict=True), 1):
        expected = verifier.expected(k)
        if all(a.tobytes() == b.tobytes() for a, b in zip(expected, answer, strict=True)):
            exact.add(k)
        differences += [difference(a, b) for a, b in zip(expected, answer, strict=True)]
        progress("check", done, len(present))
    numbers = [d for d in differences if d is not None]
    worst = max(numbers, default=0) if len(numbers) == len(differences) else None
    labels = None if samples.labels is None else samples.labels[np.array(present, dtype=int)]
    share = accuracy([o[0] for o in outputs], labels, first)
    if share is not None:
        share *= len(present) / len(samples)
    return VerificationResult(frozenset(exact), worst, share)


def difference(expected: np.ndarray, outputs: np.ndarray) -> float | None:
    """The largest difference of two outputs; None where it is not a number (a NaN or an infinity in one of
    them)."""
    if expected.tobytes() == outputs.tobytes():
        return 0
    if expected.dtype.kind != "f":
        return max(abs(int(a) - int(b)) for a, b in zip(expected.flat, outputs.flat, strict=True))
    same = (expected == outputs) | (np.isnan(expected) & np.isnan(outputs))
    a, b = (x[~same].astype(np.float64) for x in (expected, outputs))
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    return float(np.max(np.abs(a - b), initial=0))


def sample_figures(
    count: int, verified: VerificationResult, resumed: int, repeated: int, missing: int
) -> SampleFigures:
    """The part "samples" of a result."""
    return SampleFigures(
        count=count,
        bit_exact=len(verified.exact),
        max_abs_diff=verified.max_abs_diff,
        accuracy=verified.accuracy,
        missing=missing,
        resumed=resumed,
        repeated=repeated,
    )
