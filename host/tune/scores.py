"""Compute the scores of a model for every hop of a recording, as the device computes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arenite.converters.decision.plan import GatePlan
from arenite.converters.decision.reference import SampleGate
from arenite.converters.processing.preprocess import open_stream, preprocess_samples
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.host.bench.reference import Reference
from arenite.host.tune.recordings import Recording

#: Samples that are given to the features at once.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class ScoredRecording:
    """A recording with int8 ``scores`` [hops, classes] of the hops for which the model ran (``has_scores``). ``at`` has
    the index of the last sample of each hop. uint8 scores are kept with their bits."""

    recording: Recording
    scores: np.ndarray
    at: np.ndarray
    has_scores: np.ndarray


@dataclass(frozen=True)
class HopScorer:
    """Runs a model with LiteRT's reference kernels on the windows of a recording.

    ``spec`` converts ``window`` samples to the input of ``shape``; ``output`` is the number of the output with the
    scores of ``classes`` classes. A window ends every ``hop`` samples. Before a recording there is silence. With
    ``gate``, the model runs only while the gate is open.

    With ``advance``, features are those of an endless recording, as the step ``micro`` and models with state need them:
    the first window is complete after ``window`` samples, and each further one has ``advance`` new rows of features.
    The state of the model is reset after a gap.
    """

    model: Reference
    spec: Preprocessing
    shape: tuple[int, ...]
    output: int
    classes: int
    window: int
    hop: int
    gate: GatePlan | None = None
    advance: int | None = None

    def hops_of(self, recording: Recording) -> tuple[np.ndarray, np.ndarray]:
        """Return the last sample of each hop, and whether the model runs for it."""
        first = self.hop if self.advance is None else self.window
        ends = np.arange(first, len(recording.samples) + 1, self.hop)
        runs = np.zeros(len(ends), bool)
        for start, end in recording.heard:
            runs |= (ends > start) & (ends - self.window < end)
        if self.gate is not None:
            runs &= _open_hops(self.gate, recording.samples, ends)
        return ends - 1, runs

    def score(self, recording: Recording, step: Callable[[], None]) -> ScoredRecording:
        """Return the scores of ``recording``. ``step`` is called after each inference."""
        at, runs = self.hops_of(recording)
        if self.advance is not None:
            return self._score_stream(recording, at, runs, step)
        padded = np.concatenate([np.zeros(self.window, np.int16), recording.samples])
        scores = np.zeros((len(at), self.classes), np.int8)
        is_first = True
        for hop in np.flatnonzero(runs):
            end = int(at[hop]) + 1
            values = preprocess_samples(self.spec, padded[end : end + self.window]).reshape(self.shape)
            scores[hop] = _stored(self.model.run([values], reset=is_first)[self.output])
            is_first = False
            step()
        return ScoredRecording(recording, scores, at.astype(np.uint64), runs)

    def _score_stream(
        self, recording: Recording, at: np.ndarray, runs: np.ndarray, step: Callable[[], None]
    ) -> ScoredRecording:
        """Return the scores of ``recording``, whose features are computed row by row."""
        assert self.advance is not None
        stream = open_stream(self.spec, self.advance)
        scores = np.zeros((len(at), self.classes), np.int8)
        hop, is_new = 0, True
        for start in range(0, len(recording.samples), _CHUNK):
            for window in stream.feed(recording.samples[start : start + _CHUNK]):
                assert window.position - 1 == at[hop]
                if runs[hop]:
                    values = window.features.reshape(self.shape)
                    scores[hop] = _stored(self.model.run([values], reset=is_new)[self.output])
                    step()
                is_new = not runs[hop]
                hop += 1
        return ScoredRecording(recording, scores, at.astype(np.uint64), runs)


def _stored(scores: np.ndarray) -> np.ndarray:
    """Return scores [classes] as they are stored, in an array of int8."""
    return scores.reshape(-1).view(np.int8)


def _open_hops(plan: GatePlan, samples: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return for each hop whether the gate is open after the last complete block before the hop's end."""
    gate = SampleGate(plan)
    count = len(samples) // plan.block
    states = [False] + [gate.measure(samples[k * plan.block : (k + 1) * plan.block]) for k in range(count)]
    open_hops: np.ndarray = np.array(states)[np.minimum(ends // plan.block, count)]
    return open_hops
