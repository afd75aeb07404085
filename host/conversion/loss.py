"""Say where an image lost accuracy, and what to try."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.graph.model import Subgraph
from arenite.converters.passes.producers import producers
from arenite.converters.quantize.recipes.recipe import Recipe
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


def loss_note(
    graph: Subgraph, errors: Sequence[LayerError], scores: Scores | None, recipe: Recipe
) -> str | None:
    """Return a sentence about a large loss, the layer where it begins, and what to try; None for a small loss.

    Args:
        graph: the float model.
        errors: the error of each layer, including that of the layers before.
        scores: None: only the errors are looked at.
    """
    loss = _large_loss(graph, errors, scores)
    if loss is None:
        return None
    worst = _first_bad_layer(graph, errors)
    place = ""
    if worst is not None:
        place = (
            f" The error begins at layer {worst.layer} {worst.op} '{worst.name}' ({worst.sqnr_db:.0f} dB): the scale of"
            " what it reads or returns does not fit."
        )
    return f"{loss}{place} {_suggestion(recipe)}"


def _large_loss(graph: Subgraph, errors: Sequence[LayerError], scores: Scores | None) -> str | None:
    if scores is not None and scores.source.metric != "mse":
        if scores.lost <= LARGE_DROP:
            return None
        before, after = scores.source.value, scores.image.value
        return f"The image loses {100 * scores.lost:.1f} points of {scores.source.metric}: {before:.1%} to {after:.1%}."
    by_layer = {e.layer: e for e in errors}
    producer = producers(graph)
    last = [
        by_layer[producer[i].index] for i in graph.outputs if i in producer and producer[i].index in by_layer
    ]
    if not last or min(e.sqnr_db for e in last) >= _MIN_OUTPUT_DB:
        return None
    return f"The image's output differs much from the float model's: {min(e.sqnr_db for e in last):.0f} dB."


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
    if recipe.settings.weights == "int4":
        return "Try --recipe int8, or --sensitivity, which shows the layers that need int8 weights."
    if recipe.settings.activations == "int16":
        return (
            "Try more calibration samples, which resemble the data of the score, or train with quantization."
        )
    return (
        "Try --recipe int16x8, more calibration samples, or a recipe that gives this layer int16 activations"
        " (--sensitivity compares the layers)."
    )
