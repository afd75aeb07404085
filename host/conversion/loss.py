"""Explain a large loss of accuracy by quantization: the layer where it begins, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from arenite.converters.graph.model import Subgraph
from arenite.converters.passes.producers import producers
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.scoring.output_scores import OutputScore
from arenite.converters.quantize.sensitivity.layer_errors import LayerError
from arenite.host.conversion.scores import Scores

#: A loss of more than this fraction of a score is large: 2 percentage points.
LARGE_DROP = 0.02

#: For an output with the metric mse, a loss is large if the output's SQNR (signal-to-quantization-noise ratio) is below
#: this value in dB: the error then has more than 3 % of the energy of the output's values.
_MIN_OUTPUT_DB = 15.0

#: A layer with a lower SQNR in dB has a large error: its amplitude is at least 10 % of the amplitude of the values.
_MIN_LAYER_DB = 20.0

#: The SQNR in dB that is assumed for a model input, which has only a rounding error.
_EXACT_DB = 50.0


@dataclass(frozen=True)
class Loss:
    """A large loss of an image: the output with the largest loss, the layer of the float model where the error begins,
    and a sentence that also says what to try. ``layer`` is None if the layers were not compared."""

    output: OutputScore
    layer: LayerError | None
    sentence: str

    def to_json(self) -> dict[str, Any]:
        return {
            "output": self.output.index,
            "layer": None if self.layer is None else self.layer.to_json(),
            "sentence": self.sentence,
        }


def find_loss(
    graph: Subgraph,
    errors: Callable[[], Sequence[LayerError]],
    scores: Scores,
    recipe: Recipe,
    max_drop: float | None = None,
) -> Loss | None:
    """Return the layer where a large loss begins, and what to try. Return None for a small loss.

    Args:
        graph: the float model.
        errors: a function that returns the error of each layer's output, which includes the errors of the layers before
            it. It is called only for a large loss.
        scores: the scores of every output. The output with the largest loss is used.
        recipe: the recipe with which the model was quantized.
        max_drop: the largest loss that the user accepts, as a fraction. A larger loss is large even if it is below
            ``LARGE_DROP``.
    """
    output = _worst_output(scores, LARGE_DROP if max_drop is None else min(max_drop, LARGE_DROP))
    if output is None:
        return None
    which = f" of output {output.index} '{output.name}'" if len(scores.outputs) > 1 else ""
    source, image = output.source, output.image
    if source.metric == "mse":
        loss = f"The image's values{which} differ much from the float model's: the SQNR is {output.sqnr_db:.0f} dB."
    else:
        loss = (
            f"The image loses {100 * output.lost:.1f} points of {source.metric}{which}: {source.value:.1%} to"
            f" {image.value:.1%}."
        )
    layers = _layers_before(graph, graph.outputs[output.index])
    worst = _first_bad_layer(graph, [e for e in errors() if e.layer in layers])
    place = ""
    if worst is not None:
        place = (
            f" The error begins at layer {worst.layer} {worst.op} '{worst.name}' ({worst.sqnr_db:.0f} dB): the scale of"
            " its input or its output does not fit the values."
        )
    return Loss(output, worst, f"{loss}{place} {_suggestion(recipe)}")


def _worst_output(scores: Scores, limit: float) -> OutputScore | None:
    """Return the output with the largest loss above ``limit``. If there is none, return the output with the metric mse
    that has the smallest SQNR below ``_MIN_OUTPUT_DB``. Return None if no loss is large."""
    large = [o for o in scores.outputs if o.source.metric != "mse" and o.lost > limit]
    noisy = [o for o in scores.outputs if o.source.metric == "mse" and o.sqnr_db < _MIN_OUTPUT_DB]
    if large:
        return max(large, key=lambda o: o.lost)
    return min(noisy, key=lambda o: o.sqnr_db, default=None)


def _layers_before(graph: Subgraph, output: int) -> set[int]:
    """Return the indices of the operators on which the tensor with index ``output`` depends."""
    producer = producers(graph)
    layers: set[int] = set()
    pending = [output]
    while pending:
        op = producer.get(pending.pop())
        if op is not None and op.index not in layers:
            layers.add(op.index)
            pending += op.inputs
    return layers


def _first_bad_layer(graph: Subgraph, errors: Sequence[LayerError]) -> LayerError | None:
    """Return the first layer with a large error. If there is none, return the layer that adds the most error."""
    bad = next((e for e in errors if e.sqnr_db < _MIN_LAYER_DB), None)
    if bad is not None or not errors:
        return bad
    by_tensor = {graph.ops[e.layer].outputs[0]: e.sqnr_db for e in errors}

    def added_error(e: LayerError) -> float:
        before = [by_tensor[i] for i in graph.ops[e.layer].inputs if i in by_tensor]
        return min(before, default=_EXACT_DB) - e.sqnr_db

    return max(errors, key=added_error)


def _suggestion(recipe: Recipe) -> str:
    """Return a sentence on what to try after a large loss with ``recipe``."""
    if recipe.settings.weights == "int4" and recipe.settings.activations != "float":
        return "Try --recipe int8, or --sensitivity, which shows the layers that need int8 weights."
    if recipe.settings.activations == "float":
        return "Try --recipe float16, or a recipe that leaves this layer's weights in float."
    if recipe.settings.activations == "int16":
        return (
            "Try more calibration samples, which resemble the data of the score, or train with quantization."
        )
    return (
        "Try --auto, which gives int16 activations only to the layers that need them, --recipe int16x8 or more"
        " calibration samples."
    )
