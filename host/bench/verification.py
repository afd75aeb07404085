"""Compare every byte of the devices' answers with LiteRT's reference kernels."""

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
    """Computes LiteRT's outputs of each sample once. If ``stateful``, a sample continues with the state that the sample
    before it left."""

    def __init__(self, reference: Reference, samples: Samples, *, stateful: bool = False) -> None:
        self._reference, self._samples, self._stateful = reference, samples, stateful
        self._expected: dict[int, list[np.ndarray]] = {}

    def expected(self, index: int) -> list[np.ndarray]:
        """Return LiteRT's outputs of a sample, one array per model output. If ``stateful``, samples must be requested
        in order."""
        if index not in self._expected:
            fresh = index == 0 or not self._stateful
            self._expected[index] = self._reference.run(self._samples.inputs[index], reset=fresh)
        return self._expected[index]


@dataclass(frozen=True)
class VerificationResult:
    """The result of a comparison with LiteRT. ``exact`` has the numbers of the samples whose outputs are equal in every
    byte. ``max_abs_diff`` is the largest difference of an output value, or None if it is not a number. ``accuracy`` is
    None if there are no labels."""

    exact: frozenset[int]
    max_abs_diff: float | None
    accuracy: float | None


def verify_all(
    verifier: OutputVerifier,
    samples: Samples,
    answered: Sequence[int],
    outputs: Sequence[Sequence[np.ndarray]],
    first_output: Tensor | None,
    progress: Progress,
) -> VerificationResult:
    """Compare ``outputs[k]`` with LiteRT's outputs of sample ``answered[k]``. Missing samples count as wrong.

    The accuracy is computed from the model's first output, ``first_output``.
    """
    progress("check", 0, len(answered))
    exact = set()
    differences: list[float | None] = []
    for done, (k, answer) in enumerate(zip(answered, outputs, strict=True), 1):
        expected = verifier.expected(k)
        if all(a.tobytes() == b.tobytes() for a, b in zip(expected, answer, strict=True)):
            exact.add(k)
        differences += [difference(a, b) for a, b in zip(expected, answer, strict=True)]
        progress("check", done, len(answered))
    finite = [d for d in differences if d is not None]
    largest = max(finite, default=0) if len(finite) == len(differences) else None
    labels = None if samples.labels is None else samples.labels[np.array(answered, dtype=int)]
    fraction_correct = accuracy([o[0] for o in outputs], labels, first_output)
    if fraction_correct is not None:
        fraction_correct *= len(answered) / len(samples)
    return VerificationResult(frozenset(exact), largest, fraction_correct)


def difference(expected: np.ndarray, outputs: np.ndarray) -> float | None:
    """Return the largest absolute difference between two arrays, or None if it is not a number (one array has a NaN or
    an infinity where the other has another value)."""
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
    """Return the value of "samples" in a bench result."""
    return SampleFigures(
        count=count,
        bit_exact=len(verified.exact),
        max_abs_diff=verified.max_abs_diff,
        accuracy=verified.accuracy,
        missing=missing,
        resumed=resumed,
        repeated=repeated,
    )
