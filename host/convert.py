"""From what a trainer has to an image: import, calibrate, quantise or search, plan, score, fit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.errors import UnsupportedModelError, UsageError
from arenite.converters.fit import Verdict
from arenite.converters.graph import Model
from arenite.converters.image import Image, image_bytes, parse_image
from arenite.converters.importers.sources import Imported, ImportOptions, import_source
from arenite.converters.importers.tflite import parse
from arenite.converters.processing.files import preprocess_file
from arenite.converters.quantize.check_data import FieldReport, check_data
from arenite.converters.quantize.check_range import check_range
from arenite.converters.quantize.check_saturation import check_quantised
from arenite.converters.quantize.coverage import TensorCoverage, coverage, scale_ranges
from arenite.converters.quantize.data import MINIMUM, Dataset, load_dataset
from arenite.converters.quantize.layer_errors import LayerError, layer_errors
from arenite.converters.quantize.metrics import LostPart, Score, check_metric, drop, worst_parts
from arenite.converters.quantize.observe import Observations, observe
from arenite.converters.quantize.quantize import Quantised, quantize
from arenite.converters.quantize.recipe import Recipe, load_recipe, shipped
from arenite.converters.quantize.run_model import run_all
from arenite.converters.quantize.score import score_outputs, unused_labels
from arenite.converters.quantize.search.budget import Budget
from arenite.converters.quantize.search.run import Options as SearchOptions
from arenite.converters.quantize.search.run import SearchResult, search
from arenite.converters.quantize.sensitivity import Sensitivity, sensitivity
from arenite.converters.quantize.simplify import simplify
from arenite.host.attachments import Attachments
from arenite.host.fit import verdicts
from arenite.host.prepare import Prepared, prepare_image
from arenite.host.shrink import Shrinking, shrink
from arenite.profiles.boards import Board

#: What is done, how much of it is done, and how much there is (0: not known).
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Request:
    """What the user asked for; see ``arenite convert --help`` for each.

    ``calibration_samples``: calibrate with so many, evenly spread; where there is no ``test``, the others score.
    ``budget`` asks for a search, on the first of ``boards``.
    """

    source: str
    options: ImportOptions = field(default_factory=ImportOptions)
    attachments: Attachments = field(default_factory=Attachments)
    calibration: Path | None = None
    calibration_samples: int | None = None
    test: Path | None = None
    metric: str | None = None
    recipe: str | None = None
    field_data: Path | None = None
    boards: tuple[Board, ...] = ()
    budget: Budget | None = None
    search: SearchOptions = field(default_factory=SearchOptions)
    sensitivity: bool = False
    passes: bool = True


@dataclass(frozen=True)
class Calibrated:
    """What came out of quantising a float model."""

    recipe: Recipe
    quantised: Quantised
    observations: Observations | None  # None where every activation stays float
    coverage: tuple[TensorCoverage, ...] = ()
    errors: tuple[LayerError, ...] = ()
    field: FieldReport | None = None
    sensitivity: Sensitivity | None = None
    search: SearchResult | None = None


@dataclass(frozen=True)
class Scores:
    """The source model and the image on the same samples, and what the image lost (``metrics.drop``)."""

    source: Score
    image: Score
    of: str  # which samples
    worst: tuple[LostPart, ...] = ()

    @property
    def lost(self) -> float:
        return drop(self.source, self.image)


@dataclass(frozen=True)
class Conversion:
    """``prepared`` is None for a model that only hosts run (a recipe with float activations)."""

    request: Request
    imported: Imported
    image: bytes
    prepared: Prepared | None
    calibrated: Calibrated | None = None
    calibration: Dataset | None = None
    scores: Scores | None = None
    notes: tuple[str, ...] = field(default=())


def convert(request: Request, progress: Progress = lambda *_: None) -> Conversion:
    """Make the image; nothing is written.

    Raises the errors of importers, data, recipes and planning: ``UsageError``, ``ModelError``, ``ToolError``.
    """
    wanted = None if request.recipe is None else load_recipe(request.recipe)
    _check_files(request)
    progress("import", 0, 0)
    data: dict[str, Dataset] = {}

    def calibration_inputs(model: Model) -> Sequence[Sequence[np.ndarray]]:
        data["calibration"] = _load(request, request.calibration, model, calibration=True)
        return data["calibration"].limited(8).inputs

    inputs = None if request.calibration is None else calibration_inputs
    imported = import_source(request.source, inputs=inputs, options=request.options)
    model = parse(imported.flatbuffer)
    if imported.quantised:
        return _as_is(request, imported, wanted, progress)
    flatbuffer, changes = simplify(imported.flatbuffer)
    imported = replace(imported, flatbuffer=flatbuffer, notes=(*imported.notes, *changes))
    model = parse(flatbuffer)
    recipe = wanted or load_recipe("int8")
    if recipe.settings.activations == "float" and request.boards:
        raise UsageError(
            f"The recipe '{recipe.name}' has float activations, which run on no microcontroller.",
            "Leave out --board, or take an integer recipe.",
        )
    if not recipe.needs_observations and (request.field_data is not None or request.sensitivity):
        raise UsageError(
            f"The recipe '{recipe.name}' has float activations: there are no scales that field data could clip, and no "
            "layers to compare.",
            "Leave out --check-data and --sensitivity, or take an integer recipe.",
        )
    if request.calibration is None and recipe.needs_observations:
        raise UsageError(
            f"{request.source} is a float model, and the recipe '{recipe.name}' needs calibration samples.",
            "Give real inputs with --calibration FILE.npz or a folder; a few hundred are enough.",
        )
    if request.calibration is not None and "calibration" not in data:
        calibration_inputs(model)
    request.attachments.check_labels(model)
    request.attachments.check_preprocessing(model)
    calibrating, scoring, searching, of = _split(request, model, data.get("calibration"))
    # Before anything that takes minutes: it finds labels that are missing or not the model's.
    progress("score", 0, 0)
    before = None if scoring is None else _source_score(request, imported, scoring)
    if before is not None and request.budget is not None and request.budget.drop is not None:
        _check_drop(before[1], of)
    made = _quantised(request, imported, recipe, calibrating, searching, progress)
    progress("score", 0, 0)
    scores: Scores | None = None
    range_notes: list[str] = []
    if scoring is not None and before is not None:
        scores, range_notes = _scores(before, made.quantised.flatbuffer, scoring, of)
    extra = request.attachments.extra(
        parse(made.quantised.flatbuffer), made_from(imported, made.recipe, made.observations)
    )
    source = Image(
        parse(made.quantised.flatbuffer),
        None,
        _sha256(made.quantised.flatbuffer),
        imported.sha256,
        extra=extra,
    )
    unused = [r.match for r in recipe.layers if not any(r.covers(model.main, op) for op in model.main.ops)]
    if recipe.name in shipped():  # they speak of operators that a model need not have
        unused = []
    notes = [
        *imported.notes,
        *(f"The recipe '{recipe.name}' has settings for '{match}', which is no layer." for match in unused),
        *made.quantised.notes,
        *(note for data_set in (calibrating, scoring) if data_set is not None for note in data_set.notes),
        *range_notes,
    ]
    notes += [text for c in made.coverage if (text := c.warning) is not None]
    progress("plan", 0, 0)
    if made.recipe.settings.activations == "float":
        data_bytes = image_bytes(source.model, None, source_sha256=imported.sha256, extra=extra)
        return Conversion(request, imported, data_bytes, None, made, calibrating, scores, _once(notes))
    try:
        prepared = prepare_image(source, Path(_name(request.source)), passes=request.passes)
    except UnsupportedModelError as error:
        if any(rule.settings.get("activations") == "float" for rule in made.recipe.layers):
            hint = f"The recipe '{made.recipe.name}' leaves layers in float32: give them integer activations."
            raise UnsupportedModelError(error.problem, hint) from error
        raise
    notes += prepared.notes
    return Conversion(request, imported, prepared.image, prepared, made, calibrating, scores, _once(notes))


def fits(made: Conversion) -> list[Verdict]:
    """One verdict for each board of the request."""
    return [] if made.prepared is None else verdicts(made.prepared, made.request.boards, None)


def shrinking(
    made: Conversion, found: Sequence[Verdict], image: Path, progress: Progress = lambda *_: None
) -> Shrinking | None:
    """What would fit the boards that the image, written to ``image``, does not fit; None where it fits all."""
    short = [v.board for v in found if not v.fits]
    if not short or made.prepared is None:
        return None
    progress("look for what would fit", 0, 0)
    c = made.calibrated
    return shrink(
        made.prepared,
        short,
        flatbuffer=None if c is None else made.imported.flatbuffer,
        observations=None if c is None else c.observations,
        recipe="int8" if c is None else c.recipe.name,
        source=made.request.source,
        image=str(image),
    )


def made_from(
    imported: Imported, recipe: Recipe | None, observations: Observations | None
) -> Mapping[str, Any]:
    """What the image records of its making: enough to make it again, and nothing that differs between two makings."""
    return {
        "kind": imported.kind,
        "sha256": imported.sha256,
        "versions": dict(sorted(imported.made_by.items())),
        "recipe": None if recipe is None else recipe.to_json(),
        "calibration": None
        if observations is None
        else {"sha256": observations.data_sha256, "samples": observations.samples},
    }


def _as_is(request: Request, imported: Imported, recipe: Recipe | None, progress: Progress) -> Conversion:
    """A source that is quantised already: planned, and scored where there are labelled samples."""
    if recipe is not None or request.budget is not None:
        raise UsageError(
            f"{request.source} is quantised already: no recipe can change it.",
            "Convert its float model, or leave out --recipe and --budget.",
        )
    if request.sensitivity:
        raise UsageError(
            f"{request.source} is quantised already: no layer of it can be quantised alone.",
            "Convert its float model, or leave out --sensitivity.",
        )
    image = parse_image(imported.flatbuffer, request.source)
    image = replace(image, sha256=imported.sha256)
    extra = request.attachments.extra(image.model, made_from(imported, None, None), known=image.extra)
    request = replace(request, attachments=request.attachments.or_recorded(image.extra))
    image = replace(image, extra=extra)
    progress("plan", 0, 0)
    prepared = prepare_image(image, Path(_name(request.source)), passes=request.passes)
    scores, notes = None, [*imported.notes, *prepared.notes]
    samples = request.test or request.calibration
    if samples is not None:
        progress("score", 0, 0)
        dataset = _load(request, samples, image.model, calibration=False)
        before = _source_score(request, imported, dataset)
        scores, range_notes = _scores(before, prepared.image, dataset, str(samples))
        notes += [*dataset.notes, *range_notes]
    if request.field_data is not None:
        progress("check field data", 0, 0)
        field_data = _load(request, request.field_data, image.model, calibration=False)
        known = _load(request, request.calibration, image.model, calibration=False)
        notes += check_quantised(prepared.reference, field_data, known)[1]
    return Conversion(request, imported, prepared.image, prepared, None, None, scores, _once(notes))


def _check_files(request: Request) -> None:
    """Whatever is missing is told before anything that takes minutes."""
    if request.metric is not None:
        check_metric(request.metric)
    if request.calibration_samples is not None and request.calibration_samples < MINIMUM:
        raise UsageError(
            f"{request.calibration_samples} samples cannot calibrate; at least {MINIMUM} are needed.",
            "A hundred or more, like those of the field, give ranges that hold.",
        )
    for path in (request.calibration, request.test, request.field_data):
        if path is not None and not path.exists():
            raise UsageError(
                f"{path} does not exist.", "Give an .npz file with x and y, or a folder of samples."
            )
    if request.budget is not None and not request.boards:
        raise UsageError(
            "A budget is kept on a board.", "Name one with --board; `arenite boards` lists them."
        )
    if (request.budget is not None or request.field_data is not None) and request.calibration is None:
        raise UsageError(
            "A search, and a check of field data, need calibration samples.", "Add --calibration."
        )


def _load(request: Request, path: Path | None, model: Model, *, calibration: bool) -> Dataset:
    assert path is not None
    spec = request.attachments.preprocessing
    tensors = [model.main.tensors[i] for i in model.main.inputs]

    def one(file: Path) -> Sequence[np.ndarray]:
        assert spec is not None
        return [preprocess_file(spec.real, file, tensors[0].shape)]

    found = load_dataset(path, tensors, calibration=calibration, preprocessing=one if spec else None)
    return _numbered(found, request.attachments.labels)


def _numbered(dataset: Dataset, names: tuple[str, ...]) -> Dataset:
    """The classes of a folder numbered as the model's labels are.

    Raises ``UsageError`` for one that is not among these, unless a file beside the folders says their order: by the
    alphabet they would be other classes.
    """
    if not dataset.classes or dataset.labels is None or not names:
        return dataset
    strange = [name for name in dataset.classes if name not in names]
    if strange and (dataset.path / "labels.txt").is_file():
        return dataset
    if strange:
        raise UsageError(
            f"{dataset.path} has the class '{strange[0]}', which is none of the model's labels: "
            f"{', '.join(names)[:200]}.",
            "Call the classes as the labels do, or by their numbers.",
        )
    places = np.array([names.index(name) for name in dataset.classes])
    return replace(dataset, labels=places[dataset.labels], classes=names)


def _split(
    request: Request, model: Model, given: Dataset | None
) -> tuple[Dataset | None, Dataset | None, Dataset | None, str]:
    """Samples to calibrate with, to score with, to search with, and a name for the second.

    Samples that a search chose by say little about what it chose: where there is no test file, it gets half of those
    that are left of the calibration file.
    """
    test = None if request.test is None else _load(request, request.test, model, calibration=False)
    if given is None:
        return None, test, None, str(request.test)
    calibrating, rest = given, None
    if request.calibration_samples is not None and request.calibration_samples < len(given):
        calibrating, rest = given.split(request.calibration_samples)
    if test is not None:
        return calibrating, test, rest or given, str(request.test)
    if rest is None:
        return calibrating, given, given, f"{request.calibration} (the calibration samples)"
    if request.budget is None:
        return calibrating, rest, None, f"{request.calibration}, samples that calibration did not see"
    searching, scoring = rest.split(max(len(rest) // 2, 1)) if len(rest) > 1 else (rest, rest)
    return (
        calibrating,
        scoring,
        searching,
        f"{request.calibration}, samples that calibration and search did not see",
    )


def _quantised(
    request: Request,
    imported: Imported,
    recipe: Recipe,
    calibrating: Dataset | None,
    searching: Dataset | None,
    progress: Progress,
) -> Calibrated:
    flatbuffer = imported.flatbuffer
    if calibrating is None or not recipe.needs_observations:
        return Calibrated(recipe, quantize(flatbuffer, recipe, None), None)
    progress("calibrate", 0, len(calibrating))
    observations = observe(
        flatbuffer, calibrating, progress=lambda done, total: progress("calibrate", done, total)
    )
    found = None
    if request.budget is not None and searching is not None:
        from arenite.host.costs import BoardCosts

        board = request.boards[0]
        budget = request.budget.within(board.ram_bytes, board.flash_bytes)
        found = search(
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
    progress("quantise", 0, 0)
    if found is not None and found.chosen is not None:
        recipe, made = found.chosen.recipe, found.chosen.quantised
    else:
        made = quantize(flatbuffer, recipe, observations)
    model = parse(flatbuffer)
    used = coverage(model, observations, scale_ranges(model, recipe, observations))
    errors = layer_errors(flatbuffer, made.flatbuffer, made.tensors, calibrating.inputs)
    result = Calibrated(recipe, made, observations, used, errors, search=found)
    if request.field_data is not None:
        field_data = _load(request, request.field_data, model, calibration=False)
        report = check_data(
            flatbuffer,
            recipe,
            observations,
            field_data,
            quantised=made.flatbuffer,
            metric=request.metric,
            progress=lambda what, done, total: progress("check field data", done, total),
        )
        result = replace(result, field=report)
    if request.sensitivity:
        each = sensitivity(
            flatbuffer,
            recipe,
            observations,
            calibrating,
            metric=request.metric,
            progress=lambda what, done, total: progress("sensitivity", done, total),
        )
        result = replace(result, sensitivity=each)
    elif found is not None:
        result = replace(result, sensitivity=found.sensitivity)
    return result


def _check_drop(source: Score, of: str) -> None:
    if source.metric == "mse" and source.value == 0:
        raise UsageError(
            f"{of} has no targets: the model is compared with itself, and any difference is an infinite growth.",
            "Add targets y, or leave drop out of the budget.",
        )


#: A model's outputs, and their score.
_Scored = tuple[list[np.ndarray], Score]


def _source_score(request: Request, imported: Imported, dataset: Dataset) -> _Scored:
    outputs = run_all(imported.flatbuffer, dataset)
    return outputs, score_outputs(outputs, dataset, request.metric, reference=outputs)


def _scores(before: _Scored, made: bytes, dataset: Dataset, of: str) -> tuple[Scores, list[str]]:
    """The scores, and notes on samples that do not suit the scales of ``made``."""
    graph = parse(made).main
    notes = check_range(dataset, [graph.tensors[i] for i in graph.inputs])
    reference, source = before
    unused = unused_labels(reference, dataset, source.metric)
    notes += [] if unused is None else [unused]
    after = run_all(made, dataset, reference=True)
    image = score_outputs(after, dataset, source.metric, reference=reference)
    return Scores(source, image, of, tuple(worst_parts(source, image))), notes


def _once(notes: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notes))


def _name(source: str) -> str:
    """A file name for what is made of ``module:function``, or the path itself."""
    return source if ":" not in source or Path(source).exists() else source.rpartition(":")[2]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
