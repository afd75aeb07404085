"""Find the cheapest recipe whose loss is at most a limit.

Recipes are tried in the order of their costs:

1. the recipe of the user, by default int8;
2. int8 with better rounding, corrected biases and other calibrators, which cost nothing on the device;
3. int16 activations in the layers that lose most on int8, in as few layers as meet the limit;
4. int16 activations in all layers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.quantize.quantize import QuantizedModel, quantize
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.remedies.explanation import explanation
from arenite.converters.quantize.remedies.layer_order import layers_by_int8_loss, with_int16
from arenite.converters.quantize.remedies.tried_recipe import ImageCostFunction, TriedRecipe
from arenite.converters.quantize.scoring.model_runner import run_outputs
from arenite.converters.quantize.scoring.output_scores import ScoredSource, score_source
from arenite.converters.tflite.reader import parse
from arenite.errors import AreniteError

#: Called with (the recipe that is tried, number of recipes that were tried, 0). The 0 says that the number of
#: recipes to try is not known.
Progress = Callable[[str, int, int], None]

#: The largest loss, as a fraction, if the user gives no limit: half a percentage point.
DEFAULT_LIMIT = 0.005

#: The number of samples on which recipes are compared with LiteRT's fast kernels. A recipe that meets the limit
#: there is scored again with all samples and the reference kernels.
SAMPLES = 500

#: The largest number of recipes that are tried to make the set of int16 layers smaller.
_MAX_REMOVALS = 6


@dataclass(frozen=True)
class RemedyResult:
    """The recipes that were tried, in order; the first is the recipe of the user.

    ``chosen`` is the index of the cheapest recipe that loses at most ``limit``, or, if there is none, of the recipe
    with the least loss. ``quantized`` is its model. ``metric`` is the metric of the first output, and ``reason``
    explains the choice.
    """

    limit: float
    metric: str
    tried: tuple[TriedRecipe, ...]
    chosen: int
    quantized: QuantizedModel
    reason: str

    @property
    def met(self) -> bool:
        """Whether the chosen recipe loses at most ``limit``."""
        return self.tried[self.chosen].meets(self.limit)

    @property
    def recipe(self) -> Recipe:
        """The chosen recipe."""
        return self.tried[self.chosen].recipe

    def to_json(self, board: str) -> dict[str, Any]:
        """Return ``calibration.auto`` of ``arenite.convert/1``. ``board`` is the board of the costs."""
        return {
            "limit": self.limit,
            "met": self.met,
            "metric": self.metric,
            "board": board,
            "chosen": self.chosen,
            "reason": self.reason,
            "tried": [t.to_json() for t in self.tried],
        }


def find_remedy(
    flatbuffer: bytes,
    recipe: Recipe,
    observations: Observations,
    source: ScoredSource,
    limit: float,
    costs: ImageCostFunction,
    progress: Progress = lambda *_: None,
) -> RemedyResult:
    """Return the cheapest recipe that loses at most ``limit``, a fraction of the score of any output.

    Args:
        flatbuffer: the float model.
        recipe: the recipe to try first, with integer activations.
        observations: the observations of the float model.
        source: the float model's outputs and scores on the samples with which recipes are compared.
        limit: the largest loss.
        costs: predicts the costs of an image.
        progress: called before each recipe.

    Raises:
        AreniteError: the first recipe gives no image that firmware can run.
    """
    trials = _Trials(flatbuffer, observations, source, limit, costs, progress)
    first = trials.attempt(recipe.name, recipe, required=True)
    if not first.meets(limit):
        _try_remedies(trials, recipe)
    return trials.result()


def _try_remedies(trials: _Trials, recipe: Recipe) -> None:
    """Try recipes after the first one until one meets the limit."""
    graph = parse(trials.flatbuffer).main
    for label, candidate in int8_recipes(recipe):
        if trials.attempt(label, candidate).meets(trials.limit):
            return
    # The layers that keep int8 get the int8 recipe that loses least.
    int8 = min(trials.tried[1:], key=lambda t: t.drop).recipe
    layers = layers_by_int8_loss(
        trials.flatbuffer,
        int8,
        trials.observations,
        trials.source.dataset,
        lambda what, done, total: trials.progress(f"compare layers: {what}", done, total),
    )
    for inputs_and_outputs in (False, True):
        ends = ", inputs and outputs too" if inputs_and_outputs else ""

        def attempt(chosen: Collection[int], io: bool = inputs_and_outputs, ends: str = ends) -> bool:
            wide = with_int16(int8, graph, chosen, inputs_and_outputs=io)
            label = f"int16 in {len(chosen)} of {len(layers)} layers{ends}"
            return trials.attempt(label, wide, tuple(sorted(chosen))).meets(trials.limit)

        all_int16 = replace(
            int8,
            settings=replace(int8.settings, activations="int16", weights="int8"),
            inputs="int16" if inputs_and_outputs else int8.inputs,
            outputs="int16" if inputs_and_outputs else int8.outputs,
        )
        if trials.attempt(f"int16 in all layers{ends}", all_int16, None).meets(trials.limit):
            _try_fewest_layers(graph, layers, attempt)
            return


def int8_recipes(recipe: Recipe) -> list[tuple[str, Recipe]]:
    """Return recipes with int8 activations and weights that cost the same on the device, with a label for each.

    They have the inputs and outputs of ``recipe``, and its other settings as far as they do not concern accuracy.
    """
    plain = replace(recipe.settings, activations="int8", weights="int8", per_channel=True)
    base = replace(recipe, name="int8", description="", settings=plain, layers=(), ranges={})
    candidates = []
    if recipe.settings.weights != "int8" or recipe.settings.activations != "int8" or recipe.layers:
        candidates.append(("int8", base))
    elif plain.rounding != "nearest" or recipe.bias_correction:  # the recipe is an improved int8
        nearest = replace(plain, rounding="nearest", calibrator="minmax", calibrator_parameters={})
        candidates.append(("int8, plain", replace(base, settings=nearest, bias_correction=False)))
    percentile = {"percentile": 99.99}
    for label, settings, correct, equalize in (
        ("int8, biases corrected", {"rounding": "nearest"}, True, False),
        ("int8, gptq, biases corrected", {}, True, False),
        ("int8, mse, gptq", {"calibrator": "mse"}, False, False),
        ("int8, mse, gptq, biases corrected", {"calibrator": "mse"}, True, False),
        (
            "int8, percentile 99.99, gptq, biases corrected",
            {"calibrator": "percentile", "calibrator_parameters": percentile},
            True,
            False,
        ),
        ("int8, mse, gptq, biases corrected, equalized", {"calibrator": "mse"}, True, True),
    ):
        chosen: dict[str, Any] = {"rounding": "gptq", "calibrator_parameters": {}, **settings}
        candidate = replace(
            base, settings=replace(plain, **chosen), bias_correction=correct, equalisation=equalize
        )
        candidates.append((label, candidate))
    return candidates


def _try_fewest_layers(
    graph: Subgraph, layers: Sequence[int], attempt: Callable[[Collection[int]], bool]
) -> None:
    """Try int16 in the first layers of ``layers``, in as few as meet the limit. ``attempt`` tries a set of layers and
    returns whether it meets the limit."""
    count = 1
    while count < len(layers) and not attempt(layers[:count]):
        count *= 2
    if count >= len(layers):
        if not attempt(layers):  # the layers that only move values make the difference
            return
        count = len(layers)
    low, high = count // 2, count  # int16 in ``low`` layers does not meet the limit
    while high - low > 1:
        middle = (low + high) // 2
        if attempt(layers[:middle]):
            high = middle
        else:
            low = middle
    wide = list(layers[:high])
    # The order says nothing about costs: leave out the layers with the most work, if the limit is met without them.
    by_work = sorted(wide[:-1], key=lambda k: -_work(graph, graph.ops[k]))
    for layer in by_work[:_MAX_REMOVALS]:
        fewer = [k for k in wide if k != layer]
        if attempt(fewer):
            wide = fewer


def _work(graph: Subgraph, op: Op) -> int:
    """Return an estimate of the multiply-accumulates of ``op``; for other operators, the number of its results."""
    elements = graph.tensors[op.outputs[0]].elements
    rule = WEIGHTS.get(op.name)
    if rule is None:
        return elements
    weights = graph.tensors[op.inputs[rule.weights]]
    return elements * max(weights.elements // max(weights.shape[rule.axis], 1), 1)


@dataclass
class _Trials:
    """Tries recipes and keeps the results."""

    flatbuffer: bytes
    observations: Observations
    source: ScoredSource
    limit: float
    costs: ImageCostFunction
    progress: Progress
    tried: list[TriedRecipe] = field(default_factory=list)

    def __post_init__(self) -> None:
        dataset = self.source.dataset
        self._quick = self.source  # the samples for LiteRT's fast kernels
        if len(dataset) > SAMPLES:
            metric = self.source.base.metric
            self._quick = score_source(self.flatbuffer, dataset.limited(SAMPLES), metric)

    def attempt(
        self,
        label: str,
        recipe: Recipe,
        int16_layers: tuple[int, ...] | None = (),
        *,
        required: bool = False,
    ) -> TriedRecipe:
        """Try ``recipe`` and return the result. If the recipe gives the same model as an earlier one, return the
        earlier result. ``int16_layers`` are the layers with int16 activations, None for all layers.

        Raises ``AreniteError`` if ``required`` is true and there is no image.
        """
        self.progress(label, len(self.tried), 0)
        recipe = replace(recipe, name=label)
        try:
            quantized = quantize(self.flatbuffer, recipe, self.observations)
            digest = hashlib.sha256(quantized.flatbuffer).hexdigest()
            earlier = next((t for t in self.tried if t.sha256 == digest), None)
            if earlier is not None:
                return earlier
            cost = self.costs(quantized.flatbuffer)
        except AreniteError as error:
            if required:
                raise
            result = TriedRecipe(label, recipe, int16_layers=int16_layers, error=str(error))
        else:
            score, drop = self._measure(quantized, exact=False)
            result = TriedRecipe(
                label,
                recipe,
                digest,
                score,
                drop,
                len(self._quick.dataset),
                False,
                sum(layer.weight_bytes for layer in quantized.layers),
                cost,
                int16_layers,
            )
            if result.meets(self.limit):
                result = self._confirm(result, quantized)
        self.tried.append(result)
        return result

    def _measure(self, quantized: QuantizedModel, *, exact: bool) -> tuple[float, float]:
        """Return (score of the first output, largest loss of all outputs). ``exact`` uses the reference kernels and all
        samples."""
        source = self.source if exact else self._quick
        score, drop = source.score_image(run_outputs(quantized.flatbuffer, source.dataset, reference=exact))
        return score.value, drop

    def _confirm(self, result: TriedRecipe, quantized: QuantizedModel) -> TriedRecipe:
        """Return ``result`` with the score and the loss on all samples with the reference kernels."""
        score, drop = self._measure(quantized, exact=True)
        return replace(result, score=score, drop=drop, samples=len(self.source.dataset), is_exact=True)

    def result(self) -> RemedyResult:
        """Return the cheapest recipe that meets the limit, or the recipe that loses least."""
        meeting = [k for k, t in enumerate(self.tried) if t.meets(self.limit)]
        chosen = min(meeting, key=self._cost) if meeting else self._least_loss()
        quantized = quantize(self.flatbuffer, self.tried[chosen].recipe, self.observations)
        if not self.tried[chosen].is_exact:
            self.tried[chosen] = self._confirm(self.tried[chosen], quantized)
        reason = explanation(self.tried, chosen, self.limit, self.source.base.metric)
        return RemedyResult(self.limit, self.source.base.metric, tuple(self.tried), chosen, quantized, reason)

    def _cost(self, index: int) -> tuple[float, ...]:
        """Return a sort key: a recipe with fewer instructions is cheaper, then one with a smaller arena, and so on."""
        cost = self.tried[index].cost
        assert cost is not None
        return cost.instructions, cost.arena, self.tried[index].weight_bytes, index

    def _least_loss(self) -> int:
        """Return the index of the recipe with the least loss, to a hundredth of a point. If several are
        equal, it is the cheapest of them."""
        runnable = [k for k, t in enumerate(self.tried) if t.cost is not None]
        return min(runnable, key=lambda k: (round(self.tried[k].drop, 4), *self._cost(k)))
