"""Convert a trained model to an image: import it, calibrate, quantize it (or search for a recipe), plan the arena,
score the image, and check which boards it fits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.graph.resource_variables import variable_reads
from arenite.converters.graph.trees import has_trees
from arenite.converters.importers.imported_model import ImportedModel
from arenite.converters.importers.sources import import_source
from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.checks.saturation import check_quantized_model
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.graph.feature_scaling import scale_features
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.recipes.recipe import Recipe, load_recipe, shipped_recipes
from arenite.converters.quantize.remedies.remedy_search import DEFAULT_LIMIT
from arenite.converters.quantize.scoring.output_scores import score_source
from arenite.converters.quantize.sensitivity.layer_errors import LayerError, layer_errors
from arenite.converters.tflite.image import Image, image_bytes, parse_image
from arenite.converters.tflite.reader import parse
from arenite.errors import UnsupportedModelError, UsageError
from arenite.host.build.fit import verdicts
from arenite.host.build.fit_verdict import FitVerdict
from arenite.host.build.prepare import Prepared, prepare_image
from arenite.host.build.shrink import ShrinkReport, shrink
from arenite.host.conversion.loss import Loss, find_loss
from arenite.host.conversion.notes import merge_notes
from arenite.host.conversion.operator_check import check_operators, replace_hint
from arenite.host.conversion.pixels import add_pixel_preprocessing
from arenite.host.conversion.preflight import check_before_import, check_recipe
from arenite.host.conversion.quantization import QuantizationResult, calibrate_and_quantize
from arenite.host.conversion.recipe_cost import recipe_cost_note
from arenite.host.conversion.request import ConversionRequest, Progress, check_request
from arenite.host.conversion.samples import load_samples, split_samples
from arenite.host.conversion.scores import Scores, check_drop, image_scores


@dataclass(frozen=True)
class Conversion:
    """The result of a conversion.

    ``image`` has the bytes of the image. ``prepared`` is None for a model with float activations, which only host
    computers can run. ``calibrated`` is None if the source was already quantized. ``calibration`` has the samples with
    which the model was calibrated. ``scores`` is None without samples for a score. ``loss`` describes a large loss of
    the image, or is None.
    """

    request: ConversionRequest
    imported: ImportedModel
    image: bytes
    prepared: Prepared | None
    calibrated: QuantizationResult | None = None
    calibration: Dataset | None = None
    scores: Scores | None = None
    notes: tuple[str, ...] = field(default=())
    loss: Loss | None = None

    @property
    def drops_too_much(self) -> bool:
        """Whether the score of an output of the image drops by more than the limit ``max_drop`` of the request."""
        worst = None if self.scores is None else self.scores.worst_output
        limit = self.request.max_drop
        return limit is not None and worst is not None and worst.lost > limit


def convert(
    request: ConversionRequest,
    progress: Progress = lambda *_: None,
    announce: Callable[[str], None] = lambda _: None,
) -> Conversion:
    """Convert the model ``request.source`` to an image. This function writes no file.

    ``announce`` is called with a sentence on the size of the model before a framework starts.

    Raises ``UsageError``, ``ModelError`` or ``ToolError`` if a step fails.
    """
    chosen_recipe = None if request.recipe is None else load_recipe(request.recipe)
    recipe = chosen_recipe or load_recipe("int8")
    check_request(request)
    if sentence := check_before_import(request, recipe):
        announce(sentence)
    progress("import", 0, 0)
    data: dict[str, Dataset] = {}

    def calibration_inputs(model: Model) -> Sequence[Sequence[np.ndarray]]:
        data["calibration"] = load_samples(
            add_pixel_preprocessing(request, model)[0], request.calibration, model, calibration=True
        )
        return data["calibration"].limited(8).inputs

    inputs = None if request.calibration is None else calibration_inputs
    imported = import_source(request.source, inputs=inputs, options=request.options)
    model = parse(imported.flatbuffer)
    if imported.labels and not request.attachments.labels:
        request = replace(request, attachments=replace(request.attachments, labels=imported.labels))
    if request.options.features != "float32" and not has_trees(model):
        raise UsageError(
            f"--features {request.options.features} is for tree ensembles, and {request.source} has none.",
            "Leave out --features. The recipe determines the types of a network.",
        )
    if imported.quantized:
        return _convert_quantized(request, imported, model, chosen_recipe, progress)
    flatbuffer, changes = simplify(imported.flatbuffer)
    imported = replace(imported, flatbuffer=flatbuffer, notes=(*imported.notes, *changes))
    model = parse(flatbuffer)
    request, pixel_notes = add_pixel_preprocessing(request, model)
    check_recipe(request, recipe)
    if request.calibration is not None and "calibration" not in data:
        calibration_inputs(model)
    request.attachments.check_labels(model)
    request.attachments.check_preprocessing(model)
    calibrating, scoring, searching, scored_on = split_samples(request, model, data.get("calibration"))
    if calibrating is not None and recipe.inputs != "float" and not request.calibrates_with_random:
        imported = _with_scaled_features(request, imported, calibrating)
        model = parse(imported.flatbuffer)
    if calibrating is not None and recipe.needs_observations:
        progress("check operators", 0, 0)
        check_operators(imported.flatbuffer, recipe, calibrating)
    # The source is scored before the steps that take minutes, to find labels early that are missing or do not belong to
    # the model.
    progress("score", 0, 0)
    before = None if scoring is None else score_source(imported.flatbuffer, scoring, request.metric)
    if request.auto and request.max_drop is None:
        request = replace(request, max_drop=DEFAULT_LIMIT)
    has_loss_limit = request.max_drop is not None or (
        request.budget is not None and request.budget.drop is not None
    )
    if before is not None and has_loss_limit:
        check_drop(before.base, scored_on)
    quantized = calibrate_and_quantize(request, imported, recipe, calibrating, searching, before, progress)
    progress("score", 0, 0)
    scores: Scores | None = None
    range_notes: list[str] = []
    if before is not None:
        scores, range_notes = image_scores(before, quantized.quantized.flatbuffer, scored_on)
    result = parse(quantized.quantized.flatbuffer)
    extra = request.attachments.extra(
        result, provenance_of(imported, quantized.recipe, quantized.observations)
    )
    source = Image(result, None, _sha256(quantized.quantized.flatbuffer), imported.sha256, extra=extra)
    unused = [r.match for r in recipe.layers if not any(r.covers(model.main, op) for op in model.main.ops)]
    if recipe.name in shipped_recipes():  # they have settings for operators that many models do not contain
        unused = []
    notes = [
        *imported.notes,
        *pixel_notes,
        *_state_notes(request, model, scoring),
        *(
            f"The recipe '{recipe.name}' has settings for '{match}', which is not a layer of the model."
            for match in unused
        ),
        *quantized.quantized.notes,
        *(note for data_set in (calibrating, scoring) if data_set is not None for note in data_set.notes),
        *range_notes,
    ]
    if quantized.int8 is not None and quantized.int8.recipe == quantized.recipe and quantized.int8.note:
        notes.append(quantized.int8.note)
    notes += [text for c in quantized.coverage if (text := c.warning) is not None]
    loss = None
    if scores is not None:  # scores is None if the calibration samples are random
        loss = find_loss(
            model.main,
            lambda: _errors_on_score_samples(quantized, calibrating, scoring),
            scores,
            quantized.recipe,
            request.max_drop,
        )
    notes += [] if loss is None else [loss.sentence]
    progress("plan", 0, 0)
    if quantized.recipe.settings.activations == "float":
        data_bytes = image_bytes(source.model, None, source_sha256=imported.sha256, extra=extra)
        return Conversion(
            request, imported, data_bytes, None, quantized, calibrating, scores, merge_notes(notes), loss
        )
    try:
        prepared = prepare_image(source, Path(_name(request.source)), passes=request.passes)
    except UnsupportedModelError as error:
        raise replace_hint(error, quantized.recipe) from error
    notes += prepared.notes
    if quantized.auto is None:  # the table of --auto has the costs
        cost = recipe_cost_note(
            imported.flatbuffer, quantized.recipe, quantized.quantized, quantized.observations, request.boards
        )
        notes += [] if cost is None else [cost]
    return Conversion(
        request, imported, prepared.image, prepared, quantized, calibrating, scores, merge_notes(notes), loss
    )


def _with_scaled_features(
    request: ConversionRequest, imported: ImportedModel, samples: Dataset
) -> ImportedModel:
    """Return ``imported`` with operators that scale its features if their ranges are very different. Images and sound
    are left alone, because their preprocessing ends with the model's input."""
    if request.attachments.preprocessing is not None:
        return imported
    flatbuffer, notes = scale_features(imported.flatbuffer, samples.inputs)
    return replace(imported, flatbuffer=flatbuffer, notes=(*imported.notes, *notes))


def _state_notes(request: ConversionRequest, model: Model, scoring: Dataset | None) -> list[str]:
    """Return a note on the state of the model in scores, if it keeps state and ``--stateful`` is missing."""
    if scoring is None or request.stateful or not variable_reads(model.main):
        return []
    return [
        "The model keeps its state between inferences. In the scores, each sample begins with a fresh state; with "
        "--stateful, the state continues from sample to sample."
    ]


def _errors_on_score_samples(
    quantized: QuantizationResult, calibrating: Dataset | None, scoring: Dataset | None
) -> tuple[LayerError, ...]:
    """Return the error of each layer on the samples of the score. The calibration samples are not used if
    there are other samples, because calibration samples with large values can hide the errors of ordinary samples."""
    if scoring is None or scoring is calibrating:
        return quantized.errors
    image = quantized.quantized
    return layer_errors(image.source, image.flatbuffer, image.tensors, scoring.inputs)


def fits(conversion: Conversion) -> list[FitVerdict]:
    """Return one verdict for each board of the request."""
    return [] if conversion.prepared is None else verdicts(conversion.prepared, conversion.request.boards)


def shrink_suggestions(
    conversion: Conversion,
    fit_verdicts: Sequence[FitVerdict],
    image: Path,
    progress: Progress = lambda *_: None,
) -> ShrinkReport | None:
    """Return suggested changes with which the image would fit the boards that it does not fit. Return None if it fits
    all boards. ``image`` is the path of the image in the suggested commands."""
    too_small_boards = [v.board for v in fit_verdicts if not v.fits]
    if not too_small_boards or conversion.prepared is None:
        return None
    progress("search for changes that fit", 0, 0)
    c = conversion.calibrated
    return shrink(
        conversion.prepared,
        too_small_boards,
        flatbuffer=None if c is None else conversion.imported.flatbuffer,
        observations=None if c is None else c.observations,
        recipe="int8" if c is None else c.recipe.name,
        source=conversion.request.source,
        image=str(image),
    )


def provenance_of(
    imported: ImportedModel, recipe: Recipe | None, observations: Observations | None
) -> Mapping[str, Any]:
    """Return the data on the model's source that the image records. They are sufficient to repeat the conversion, and
    do not differ between two runs of the same conversion."""
    return {
        "kind": imported.kind,
        "sha256": imported.sha256,
        "versions": dict(sorted(imported.made_by.items())),
        "recipe": None if recipe is None else recipe.to_json(),
        "calibration": None
        if observations is None
        else {"sha256": observations.data_sha256, "samples": observations.samples},
    }


def _convert_quantized(
    request: ConversionRequest,
    imported: ImportedModel,
    model: Model,
    recipe: Recipe | None,
    progress: Progress,
) -> Conversion:
    """Convert a source that is already quantized, or a tree ensemble: plan its arena, and score it if there are
    samples. ``model`` is the graph of ``imported``."""
    is_tree = has_trees(model)
    if is_tree and (recipe is not None or request.budget is not None or request.auto or request.sensitivity):
        raise UsageError(
            f"{request.source} is a tree ensemble. Recipes quantize networks; the answers of trees stay the same.",
            "Leave out --recipe, --auto, --budget and --sensitivity. --features int16 stores smaller thresholds.",
        )
    if recipe is not None or request.budget is not None or request.auto:
        raise UsageError(
            f"{request.source} is quantized already, so a recipe cannot change it.",
            "Convert its float model, or leave out --recipe, --budget and --auto.",
        )
    if request.sensitivity:
        raise UsageError(
            f"{request.source} is quantized already, so its layers cannot be quantized one by one.",
            "Convert its float model, or leave out --sensitivity.",
        )
    image = parse_image(imported.flatbuffer, request.source)
    image = replace(image, sha256=imported.sha256)
    request, pixel_notes = add_pixel_preprocessing(request, image.model)
    extra = request.attachments.extra(image.model, provenance_of(imported, None, None), known=image.extra)
    request = replace(request, attachments=request.attachments.fill_from_image(image.extra))
    image = replace(image, extra=extra)
    progress("plan", 0, 0)
    prepared = prepare_image(image, Path(_name(request.source)), passes=request.passes)
    scores, notes = None, [*imported.notes, *pixel_notes, *prepared.notes]
    samples = request.test or (None if request.calibrates_with_random else request.calibration)
    if samples is not None:
        progress("score", 0, 0)
        dataset = load_samples(request, samples, image.model, calibration=False)
        before = score_source(imported.flatbuffer, dataset, request.metric)
        scores, range_notes = image_scores(before, prepared.image, str(samples))
        notes += [*dataset.notes, *range_notes]
    if request.field_data is not None:
        progress("check field data", 0, 0)
        field_data = load_samples(request, request.field_data, image.model, calibration=False)
        known = load_samples(request, request.calibration, image.model, calibration=False)
        notes += check_quantized_model(prepared.reference, field_data, known)[1]
    return Conversion(request, imported, prepared.image, prepared, None, None, scores, merge_notes(notes))


def _name(source: str) -> str:
    """Return the file name under which messages show the model: the function's name if ``source`` is
    ``module:function``, else ``source``."""
    return source if ":" not in source or Path(source).exists() else source.rpartition(":")[2]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
