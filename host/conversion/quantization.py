"""Quantize a float model with calibration samples, and measure the error of the result."""

from __future__ import annotations

from dataclasses import dataclass, replace

from arenite.converters.importers.imported_model import ImportedModel
from arenite.converters.quantize.calibration.observations import Observations, observe
from arenite.converters.quantize.checks.coverage import TensorCoverage, coverage, quantized_ranges
from arenite.converters.quantize.checks.field_data import FieldReport, check_data
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.dataset.states import with_states
from arenite.converters.quantize.quantize import QuantizedModel, quantize
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.remedies.best_int8 import ChosenInt8, choose_int8
from arenite.converters.quantize.remedies.kept_decisions import keep_decisions
from arenite.converters.quantize.remedies.remedy_search import RemedyResult, find_remedy
from arenite.converters.quantize.scoring.output_scores import ScoredSource
from arenite.converters.quantize.search.recipe_search import SearchResult, search
from arenite.converters.quantize.sensitivity.layer_errors import LayerError, layer_errors
from arenite.converters.quantize.sensitivity.sensitivity import Sensitivity, sensitivity
from arenite.converters.quantize.weights.balanced_model import balanced_model
from arenite.converters.tflite.reader import parse
from arenite.host.build.board_costs import BoardCosts, SpeedBuildCost
from arenite.host.conversion.recipe_cost import cost_board
from arenite.host.conversion.request import ConversionRequest, Progress
from arenite.host.conversion.samples import load_samples


@dataclass(frozen=True)
class QuantizationResult:
    """The result of quantizing a float model.

    ``coverage`` says how well the scales fit the calibration values, ``errors`` has the error of each layer. ``field``
    (the check of field data), ``sensitivity``, ``search`` and ``auto`` (the recipes that --auto tried) are None unless
    they were requested. ``int8`` is the choice of the int8
    recipe if the user named no recipe.
    """

    recipe: Recipe
    quantized: QuantizedModel
    observations: Observations | None  # statistics of the activations; None if every activation stays float
    coverage: tuple[TensorCoverage, ...] = ()
    errors: tuple[LayerError, ...] = ()
    field: FieldReport | None = None
    sensitivity: Sensitivity | None = None
    search: SearchResult | None = None
    auto: RemedyResult | None = None
    int8: ChosenInt8 | None = None


def calibrate_and_quantize(
    request: ConversionRequest,
    imported: ImportedModel,
    recipe: Recipe,
    calibrating: Dataset | None,
    searching: Dataset | None,
    scored: ScoredSource | None,
    progress: Progress,
) -> QuantizationResult:
    """Quantize ``imported`` with ``recipe``, or with the recipe that a search finds if the request has a budget or asks
    for the cheapest recipe. Then make the measurements that the request asks for.

    ``calibrating`` has the calibration samples, ``searching`` the samples on which a search scores recipes. ``scored``
    has the float model's scores on the samples of the score.
    """
    flatbuffer = imported.flatbuffer
    if calibrating is not None:
        calibrating = replace(calibrating, inputs=with_states(flatbuffer, calibrating.inputs))
    if calibrating is None or not recipe.needs_observations:
        quantized = quantize(flatbuffer, recipe, None)
        errors: tuple[LayerError, ...] = ()
        if calibrating is not None:
            errors = layer_errors(
                quantized.source, quantized.flatbuffer, quantized.tensors, calibrating.inputs
            )
        return QuantizationResult(recipe, quantized, None, errors=errors)
    progress("calibrate", 0, len(calibrating))
    observations = observe(
        flatbuffer, calibrating, progress=lambda done, total: progress("calibrate", done, total)
    )
    search_result = None
    if request.budget is not None and searching is not None:
        board = request.boards[0]
        budget = request.budget.within(board.ram_bytes, board.flash_bytes)
        search_result = search(
            flatbuffer,
            recipe,
            observations,
            searching,
            BoardCosts(board),
            budget,
            replace(request.search, metric=request.metric),
            identity=(board.name,),
            progress=lambda what, done, total: progress("search", done, total),
        )
    requested_recipe, costs = recipe, SpeedBuildCost(cost_board(request.boards))
    improved = None
    if request.recipe is None and search_result is None and not request.calibrates_with_random:
        improved = choose_int8(flatbuffer, recipe, observations, costs, progress)
        recipe = improved.recipe
    remedy = None
    if request.auto and scored is not None and request.max_drop is not None:
        remedy = find_remedy(
            flatbuffer,
            recipe,
            observations,
            scored,
            request.max_drop,
            costs,
            lambda what, done, total: progress(f"try recipes: {what}", done, total),
        )
    progress("quantise", 0, 0)
    if remedy is not None:
        recipe, quantized = remedy.recipe, remedy.quantized
    elif search_result is not None and search_result.chosen is not None:
        recipe, quantized = search_result.chosen.recipe, search_result.chosen.quantized
    else:
        quantized = quantize(flatbuffer, recipe, observations)
        if imported.is_classifier and improved is not None:
            kept = keep_decisions(flatbuffer, recipe, quantized, observations, calibrating)
            recipe = kept.recipe
            quantized = replace(kept.quantized, notes=(*kept.quantized.notes, kept.note))
    model = parse(quantized.source)
    of_source = balanced_model(flatbuffer, observations).observations if recipe.balance else observations
    tensor_coverage = coverage(model, of_source, quantized_ranges(model, recipe, of_source))
    errors = layer_errors(quantized.source, quantized.flatbuffer, quantized.tensors, calibrating.inputs)
    result = QuantizationResult(
        recipe,
        quantized,
        observations,
        tensor_coverage,
        errors,
        search=search_result,
        auto=remedy,
        int8=improved,
    )
    if request.field_data is not None:
        field_data = load_samples(request, request.field_data, model, calibration=False)
        report = check_data(
            flatbuffer,
            recipe,
            observations,
            field_data,
            quantized=quantized.flatbuffer,
            metric=request.metric,
            progress=lambda what, done, total: progress("check field data", done, total),
        )
        result = replace(result, field=report)
    if request.sensitivity:
        layer_scores = sensitivity(
            flatbuffer,
            requested_recipe,
            observations,
            calibrating,
            metric=request.metric,
            progress=lambda what, done, total: progress("sensitivity", done, total),
        )
        result = replace(result, sensitivity=layer_scores)
    elif search_result is not None:
        result = replace(result, sensitivity=search_result.sensitivity)
    return result
