"""Try one recipe: quantize the model, predict size and instructions, and score it. This can run in any process."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.quantize import QuantizedModel, quantize
from arenite.converters.quantize.scoring.metrics import Score, decide, metric_drop
from arenite.converters.quantize.scoring.model_runner import run_dataset
from arenite.converters.quantize.scoring.score import score_outputs
from arenite.converters.quantize.search.outcome import BuildCost, TrialOutcome
from arenite.converters.quantize.search.search_space import SearchSpace
from arenite.errors import AreniteError

#: A function from a quantized flatbuffer to its costs on the board, for every way to build it.
CostFunction = Callable[[bytes], tuple[BuildCost, ...]]


@dataclass(frozen=True)
class SearchTask:
    """The data for trying a recipe. It can be sent to another process.

    ``reference`` has the float model's outputs on ``dataset``, and ``base`` is the float model's score.
    """

    flatbuffer: bytes
    space: SearchSpace
    observations: Observations
    dataset: Dataset
    costs: CostFunction
    reference: list[np.ndarray] = field(repr=False)
    base: Score

    def quantize(self, params: Mapping[str, Any]) -> QuantizedModel:
        return quantize(self.flatbuffer, self.space.recipe(params), self.observations)

    def score(self, flatbuffer: bytes, *, exact: bool) -> Score:
        """Return the score on the task's samples. ``exact`` uses the reference kernels, which give the same results as
        the firmware."""
        return self.scored(run_dataset(flatbuffer, self.dataset, reference=exact))

    def scored(self, outputs: Sequence[np.ndarray]) -> Score:
        return score_outputs(outputs, self.dataset, self.base.metric, reference=self.reference)


def evaluate_recipe(task: SearchTask, params: Mapping[str, Any]) -> TrialOutcome:
    """Return the outcome of ``params``. A recipe that gives no image has an outcome as well.

    The score is measured with LiteRT's fast kernels, whose results differ from the firmware's by single steps. The
    chosen recipe is scored again with the reference kernels.
    """
    try:
        quantized = task.quantize(params)
        digest = hashlib.sha256(quantized.flatbuffer).hexdigest()
        builds = task.costs(quantized.flatbuffer)
    except AreniteError as error:
        return TrialOutcome(dict(params), "", (), 0.0, 0.0, error=str(error))
    outputs = run_dataset(quantized.flatbuffer, task.dataset, reference=False)
    score = task.scored(outputs)
    return TrialOutcome(
        dict(params), digest, builds, score.value, metric_drop(task.base, score), _deviation(task, outputs)
    )


def _deviation(task: SearchTask, outputs: Sequence[np.ndarray]) -> float:
    """Return the standard deviation of the drop. It assumes that each changed decision is right or wrong with equal
    probability."""
    if task.base.metric not in ("accuracy", "agreement"):
        return 0.0
    changed = int(np.sum(decide(outputs) != decide(task.reference)))
    return math.sqrt(changed) / len(outputs)
