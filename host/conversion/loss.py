"""Say where an image lost accuracy, and what to try."""

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

#: An mse is large if the error of the output has more than 3 % of the energy of its values.
_MIN_OUTPUT_DB = 15.0

#: A layer with less than this has an error of at least 10 % of its values.
_MIN_LAYER_DB = 20.0

#: The figure of a model input, which has only the error of its rounding.
_EXACT_DB = 50.0


@dataclass(frozen=True)
class Loss:
    """A large loss of an image: the output that loses most, the layer of the float model where the error begins, and
    what to try. ``layer`` is None if the layers were not compared."""

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
    """Return where a large loss begins and what to try; None for a small loss.

    Args:
        graph: the float model.
        errors: returns the error of each layer, including that of the layers before. It is called for a large loss.
        scores: the scores of every output. The loss is that of the output with the largest loss.
        recipe: the recipe of the image.
        max_drop: a loss that the user does not accept, as a fraction. It is large even if it is below ``LARGE_DROP``.
    """
    output = _worst_output(scores, LARGE_DROP if max_drop is None else min(max_drop, LARGE_DROP))
    if output is None:
        return None
    which = f" of output {output.index} '{output.name}'" if len(scores.outputs) > 1 else ""
    source, image = output.source, output.image
    if source.metric == "mse":
        loss = f"The image's values{which} differ much from the float model's: {output.sqnr_db:.0f} dB."
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
            " what it reads or returns does not fit."
        )
    return Loss(output, worst, f"{loss}{place} {_suggestion(recipe)}")


def _worst_output(scores: Scores, limit: float) -> OutputScore | None:
    """Return the output with the largest loss, or for outputs with an mse the smallest ratio of signal to error; None
    if no loss is large."""
    large = [o for o in scores.outputs if o.source.metric != "mse" and o.lost > limit]
    noisy = [o for o in scores.outputs if o.source.metric == "mse" and o.sqnr_db < _MIN_OUTPUT_DB]
    if large:
        return max(large, key=lambda o: o.lost)
    return min(noisy, key=lambda o: o.sqnr_db, default=None)


def _layers_before(graph: Subgraph, output: int) -> set[int]:
    """Return the indices of the operators that tensor ``output`` depends on."""
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
    """Return the first layer with a large error, or the layer that adds the most error if none has a large one."""
    bad = next((e for e in errors if e.sqnr_db < _MIN_LAYER_DB), None)
    if bad is not None or not errors:
        return bad
    by_tensor = {graph.ops[e.layer].outputs[0]: e.sqnr_db for e in errors}

    def added_error(e: LayerError) -> float:
        before = [by_tensor[i] for i in graph.ops[e.layer].inputs if i in by_tensor]
        return min(before, default=_EXACT_DB) - e.sqnr_db

    return max(errors, key=added_error)


def _suggestion(recipe: Recipe) -> str:
    if recipe.settings.weights == "int4" and recipe.settings.activations != "float":
        return "Try --recipe int8, or --sensitivity, which shows the layers that need int8 weights."
    if recipe.settings.activations == "float":
        return "Try --recipe float16, or a recipe that leaves this layer's weights in float."
    if recipe.settings.activations == "int16":
        return (
            "Try more calibration samples, which resemble the data of the score, or train with quantization."
        )
    return (
        "Try --recipe int16x8, more calibration samples, or a recipe that gives this layer int16 activations"
        " (--sensitivity compares the layers)."
    )
