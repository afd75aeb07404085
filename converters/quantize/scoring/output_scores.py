"""Score every output of a model, and compare it with the same output of the float model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.scoring.decisions import probability_axis
from arenite.converters.quantize.scoring.metrics import Score, metric_drop
from arenite.converters.quantize.scoring.model_runner import run_outputs
from arenite.converters.quantize.scoring.score import (
    default_metric,
    ignored_labels_note,
    score_outputs,
)
from arenite.errors import UsageError


@dataclass(frozen=True)
class OutputScore:
    """The scores of one output of the float model and of the quantized model on the same samples.

    ``source`` is the float model's score and ``image`` the quantized model's score. ``shape`` is the shape with the
    batch of 1. ``sqnr_db`` is the ratio of the energy of the float model's values to the energy of the differences,
    infinite if all values are equal. ``max_abs`` is the largest difference in real units.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    source: Score
    image: Score
    sqnr_db: float
    max_abs: float
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def lost(self) -> float:
        """The loss as ``metric_drop`` returns it."""
        return metric_drop(self.source, self.image)

    @property
    def has_drop(self) -> bool:
        """Whether the loss is meaningful. It is not if the score is the mse of the float model compared with itself."""
        return _has_drop(self.source)

    def to_json(self) -> dict[str, Any]:
        return {
            "index": self.index,
            "name": self.name,
            "shape": list(self.shape),
            "source": self.source.to_json(),
            "image": self.image.to_json(),
            "drop": self.lost,
            "sqnr_db": None if np.isinf(self.sqnr_db) else self.sqnr_db,
            "max_abs": self.max_abs,
        }


@dataclass(frozen=True)
class ScoredSource:
    """The float model's outputs on ``dataset``, ``outputs[output][sample]``, and the score of each output."""

    dataset: Dataset
    outputs: list[list[np.ndarray]] = field(repr=False)
    scores: list[Score]

    @property
    def base(self) -> Score:
        """The score of the first output."""
        return self.scores[0]

    def score_image(self, image: Sequence[Sequence[np.ndarray]]) -> tuple[Score, float]:
        """Return the score of the first output of the quantized model, and the largest loss of all its outputs.

        Args:
            image: the quantized model's outputs on the same samples, from ``run_outputs``.
        """
        worst, after = self.worst_output(image)
        first = self._score(0, image[0]) if worst else after
        return first, metric_drop(self.scores[worst], after)

    def worst_output(self, image: Sequence[Sequence[np.ndarray]]) -> tuple[int, Score]:
        """Return the index of the quantized model's output that loses most, and its score. ``image`` has its outputs on
        the same samples."""
        scores = [self._score(k, values) for k, values in enumerate(image)]
        drops = {k: metric_drop(s, scores[k]) for k, s in enumerate(self.scores) if _has_drop(s)}
        worst = max(drops, key=lambda k: drops[k], default=0)
        return worst, scores[worst]

    def compare(self, names: Sequence[str], image: Sequence[Sequence[np.ndarray]]) -> tuple[OutputScore, ...]:
        """Return the scores of every output, and its difference from the float model.

        Args:
            names: the name of each output.
            image: the quantized model's outputs on the same samples, from ``run_outputs``.
        """
        compared = []
        for k, (name, before, after, score) in enumerate(
            zip(names, self.outputs, image, self.scores, strict=True)
        ):
            unused = ignored_labels_note(before, self.dataset.for_output(k), score.metric)
            compared.append(
                OutputScore(
                    k,
                    name,
                    before[0].shape,
                    score,
                    self._score(k, after),
                    *_difference(before, after),
                    () if unused is None else (unused,),
                )
            )
        return tuple(compared)

    def _score(self, index: int, values: Sequence[np.ndarray]) -> Score:
        """Return the score of ``values`` as the output ``index``, by the metric of the float model's score."""
        samples, metric = self.dataset.for_output(index), self.scores[index].metric
        return score_outputs(values, samples, metric, reference=self.outputs[index])


def score_source(flatbuffer: bytes, dataset: Dataset, metric: str | None = None) -> ScoredSource:
    """Run the float model and score every output.

    Args:
        flatbuffer: the float model.
        dataset: the samples and the labels of each output.
        metric: the metric of the first output, and of the other outputs that have labels; None: the default metric.

    Raises:
        UsageError: the labels of an output do not fit the metric, or belong to an output that the model does not have.
    """
    outputs = run_outputs(flatbuffer, dataset)
    for k in dataset.more_labels:
        if k >= len(outputs):
            raise UsageError(
                f"{dataset.path} has the labels y{k}; the model's last output is number {len(outputs) - 1}.",
                "Leave out those labels.",
            )
    scores = []
    for k, values in enumerate(outputs):
        samples = dataset.for_output(k)
        chosen = metric if k == 0 or samples.labels is not None else None
        scores.append(
            score_outputs(
                values, samples, chosen or _default_output_metric(k, values, samples), reference=values
            )
        )
    return ScoredSource(dataset, outputs, scores)


def _default_output_metric(index: int, values: Sequence[np.ndarray], samples: Dataset) -> str:
    """Return the default metric of an output. A vector that is not the first output counts as class scores only if
    it holds probabilities, because it may also be a box or an embedding, whose largest value has no meaning."""
    metric = default_metric(values, samples)
    is_float = values[0].dtype.kind == "f"
    if index and metric == "agreement" and is_float and probability_axis(values) is None:
        return "r2"
    return metric


def _has_drop(source: Score) -> bool:
    """Return whether a loss relative to the float model's score is meaningful: not if this score is an mse of 0."""
    return source.metric != "mse" or source.value > 0


def _difference(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the signal-to-quantization-noise ratio in dB and the largest difference of all values of an output."""
    signal, error, largest = 0.0, 0.0, 0.0
    for a, b in zip(before, after, strict=True):
        values = a.astype(np.float64).reshape(-1)
        difference = b.astype(np.float64).reshape(-1) - values
        signal += float(np.sum(values**2))
        error += float(np.sum(difference**2))
        largest = max(largest, float(np.max(np.abs(difference), initial=0.0)))
    return (float("inf") if error == 0 else 10 * float(np.log10(max(signal, 1e-30) / error))), largest
