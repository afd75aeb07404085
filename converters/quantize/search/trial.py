"""Try one recipe: quantize the model, predict size and instructions, and score it. Worker processes can do this too."""

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
from arenite.converters.quantize.scoring.decisions import decide
from arenite.converters.quantize.scoring.metrics import Score
from arenite.converters.quantize.scoring.model_runner import run_outputs
from arenite.converters.quantize.scoring.output_scores import ScoredSource
from arenite.converters.quantize.search.outcome import BuildCost, TrialOutcome
from arenite.converters.quantize.search.search_space import SearchSpace
from arenite.errors import AreniteError

#: A function from a quantized flatbuffer to its costs on the board, for every way to build it.
CostFunction = Callable[[bytes], tuple[BuildCost, ...]]


@dataclass(frozen=True)
class SearchTask:
    """The data for trying a recipe. It can be sent to another process. ``source`` has the float model's outputs and
    scores."""

    flatbuffer: bytes
    space: SearchSpace
    observations: Observations
    costs: CostFunction
    source: ScoredSource = field(repr=False)

    @property
    def dataset(self) -> Dataset:
        return self.source.dataset

    @property
    def base(self) -> Score:
        """The score of the float model's first output."""
        return self.source.base

    def quantize(self, params: Mapping[str, Any]) -> QuantizedModel:
        """Return the model quantized with the parameters ``params`` of the space."""
        return quantize(self.flatbuffer, self.space.recipe(params), self.observations)

    def score(self, flatbuffer: bytes, *, exact: bool) -> tuple[Score, float]:
        """Return the score of the first output on the task's samples, and the largest loss of all outputs. ``exact``
        uses the reference kernels, which give the same results as the firmware."""
        return self.source.score_image(run_outputs(flatbuffer, self.dataset, reference=exact))


def evaluate_recipe(task: SearchTask, params: Mapping[str, Any]) -> TrialOutcome:
    """Return the outcome of the recipe with ``params``. If it gives no model image, the outcome has the error.

    The score is measured with LiteRT's fast kernels, whose results differ from the firmware's by single quantization
    steps. The chosen recipe is scored again with the reference kernels.
    """
    try:
        quantized = task.quantize(params)
        digest = hashlib.sha256(quantized.flatbuffer).hexdigest()
        builds = task.costs(quantized.flatbuffer)
    except AreniteError as error:
        return TrialOutcome(dict(params), "", (), 0.0, 0.0, error=str(error))
    outputs = run_outputs(quantized.flatbuffer, task.dataset, reference=False)
    score, lost = task.source.score_image(outputs)
    return TrialOutcome(dict(params), digest, builds, score.value, lost, _deviation(task, outputs[0]))


def _deviation(task: SearchTask, outputs: Sequence[np.ndarray]) -> float:
    """Return the standard deviation of the first output's drop. It assumes that each changed decision is right or wrong
    with equal probability."""
    if task.base.metric not in ("accuracy", "agreement"):
        return 0.0
    differs = (decide(outputs) != decide(task.source.outputs[0])).reshape(len(outputs), -1)
    # For dense outputs: the share of changed positions per sample.
    changed = float(differs.mean(axis=1).sum())
    return math.sqrt(changed) / len(outputs)
