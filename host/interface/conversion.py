"""``convert``: turn a trained model into an image with a planned arena."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.anomaly.head import load_anomaly_head
from arenite.converters.decision.record import load_decision
from arenite.converters.importers.imported_model import ImportOptions
from arenite.converters.importers.sources import parse_shapes
from arenite.converters.processing.post.postprocessing import load_postprocessing
from arenite.converters.processing.specification.preprocessing import load_preprocessing
from arenite.converters.quantize.search.budget import parse_budget
from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions
from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.build.attachments import Attachments, read_labels
from arenite.host.build.fit_verdict import FitVerdict
from arenite.host.build.shrink import ShrinkReport
from arenite.host.conversion.convert import Conversion, fits, shrink_suggestions
from arenite.host.conversion.convert import convert as run_conversion
from arenite.host.conversion.request import ConversionRequest, Progress
from arenite.host.interface.model import Model
from arenite.host.report.conversion_text import to_json
from arenite.processes import temporary_folder
from arenite.profiles.boards import load_board

#: The path of an .npz file or of a folder of samples; or arrays by their names in an .npz file: x (or x0, x1, ... for
#: several inputs) and y; or only the array x.
CalibrationData = str | Path | Mapping[str, np.ndarray] | np.ndarray


@dataclass(frozen=True)
class ConversionReport:
    """The result of a conversion, whose image was written to ``path``.

    ``model`` is None for an image with float activations, which only host computers can run. ``verdicts`` has one entry
    for each board that the user named.
    """

    path: Path
    conversion: Conversion
    verdicts: tuple[FitVerdict, ...]
    shrink: ShrinkReport | None
    notes: tuple[str, ...] = field(default=())

    @property
    def model(self) -> Model | None:
        """The converted model with its planned arena, or None if it has float activations."""
        return None if self.conversion.prepared is None else Model(self.conversion.prepared)

    @property
    def score_before(self) -> float | None:
        """The score of the source, or None without samples for a score."""
        scores = self.conversion.scores
        return None if scores is None else scores.source.value

    @property
    def score_after(self) -> float | None:
        """The score of the image, or None without samples for a score."""
        scores = self.conversion.scores
        return None if scores is None else scores.image.value

    @property
    def met(self) -> bool:
        """Whether all requirements are met: the image fits every board that the user named, a search found a recipe
        within its budget, and no output's score drops by more than ``max_drop``."""
        request, calibrated = self.conversion.request, self.conversion.calibrated
        missed = request.budget is not None and (
            calibrated is None or calibrated.search is None or calibrated.search.chosen is None
        )
        return (
            not missed
            and not self.conversion.drops_too_much
            and all(verdict.fits for verdict in self.verdicts)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.convert/1``."""
        return to_json(self.conversion, self.path, self.verdicts, self.shrink)


def convert(
    source: str | Path,
    output: str | Path | None = None,
    *,
    calibration: CalibrationData | None = None,
    calibration_samples: int | None = None,
    test: CalibrationData | None = None,
    metric: str | None = None,
    recipe: str | Path | None = None,
    check_data: str | Path | None = None,
    sensitivity: bool = False,
    boards: str | Sequence[str] = (),
    budget: str | None = None,
    trials: int = 40,
    study: str | Path | None = None,
    jobs: int = 1,
    dask: str | None = None,
    seed: int = 0,
    preprocessing: str | Path | None = None,
    pixels: str | None = None,
    postprocessing: str | Path | None = None,
    labels: str | Path | None = None,
    decision: str | Path | None = None,
    anomaly: str | Path | None = None,
    input_shapes: Sequence[str] = (),
    signature: str = "",
    keep_layout: bool = False,
    features: str = "float32",
    passes: bool = True,
    max_drop: float | None = None,
    auto: bool = False,
    stateful: bool = False,
    progress: Progress = lambda *_: None,
    announce: Callable[[str], None] = lambda _: None,
) -> ConversionReport:
    """Quantize a trained model and write it as an image.

    Args:
        source: a .keras, .h5, .onnx, .pt2 or .tflite file, a SavedModel folder, or ``module:function`` (PyTorch).
        output: the file for the image; None: the name of the source with ``.image.tflite``.
        calibration: samples of real inputs, which a float model needs. Arrays have the shape ``(samples, ...)``. With
            ``"random"``, random numbers are used; the result then shows only the sizes.
        calibration_samples: the number of samples to calibrate with. The remaining samples are used for the score.
        test: labelled samples for the scores of source and image.
        metric: ``accuracy``, ``auc``, ``mse``, ``r2`` or ``agreement``; None: depends on the data.
        recipe: the name of a shipped recipe (such as ``int8``, ``w4`` or ``int16x8``) or a TOML file.
        check_data: samples from the real use of the model. The report shows which tensors clip their values.
        sensitivity: also measure the error that each layer causes if only this layer is quantized.
        boards: the names of boards that the image should fit.
        budget: search for a recipe within limits such as ``"ram=48k,flash=256k,drop=1%"``, for the first board.
        trials, study, jobs, dask, seed: options of the search: the number of recipes to try, the file that stores them,
            the number of processes, the address of a Dask scheduler, and the random seed.
        pixels: the range to which the pixels of pictures (0 to 255) are converted: ``0..1``, ``-1..1``, ``0..255`` or
            ``imagenet``. Use it in place of ``preprocessing`` if pictures are only resized to the model's input.
        preprocessing, postprocessing, labels: two TOML files and a text file whose contents are recorded in the image.
        anomaly: a TOML file with the settings of an anomaly head, which the image records.
        decision: a TOML file with the tables ``decision`` and ``gate`` (one or both), which are recorded in the image.
        input_shapes: shapes as ``[NAME=]1,3,96,96``, for inputs with a dimension that the source does not specify.
        signature: the name of the signature of a SavedModel.
        keep_layout: do not change NCHW inputs to NHWC.
        features: the type of the features of a tree ensemble: ``float32``, or ``int16`` or ``int8`` for features that
            are whole numbers.
        passes: apply the graph optimizations.
        max_drop: the largest acceptable loss of the score, as a fraction (0.01 is one percentage point; for mse, 0.01
            is an increase by 1 %). ``ConversionReport.met`` is false if the loss is larger.
        auto: use the cheapest recipe that loses at most ``max_drop``, or half a percentage point if ``max_drop`` is
            None: int8, int8 with other roundings and calibrators, int16 in some layers, or int16 in all layers.
        stateful: compute the scores of a model that keeps state as one sequence of samples; otherwise each sample
            begins with a fresh state.
        progress: a function that is called as ``progress(stage, done, total)``.
        announce: a function that is called with a sentence on the size of the model, before a framework starts.

    Raises:
        UsageError, ModelError, UnsupportedModelError: the source, the data or the options are not valid.
        ToolError: a framework failed.
    """
    target = Path(output) if output is not None else default_output(str(source))
    if Path(source).exists() and target.resolve() == Path(source).resolve():
        raise UsageError(f"{target} is the source itself.", "Give another file with -o.")
    if target.is_dir():
        raise UsageError(f"{target} is a folder.", "Give the path of a file.")
    names = (boards,) if isinstance(boards, str) else tuple(boards)
    with ExitStack() as stack:
        request = ConversionRequest(
            str(source),
            ImportOptions(parse_shapes(tuple(input_shapes)), signature, keep_layout, features=features),
            Attachments(
                None if preprocessing is None else load_preprocessing(Path(preprocessing)),
                None if postprocessing is None else load_postprocessing(Path(postprocessing)),
                () if labels is None else read_labels(Path(labels)),
                *((None, None) if decision is None else load_decision(Path(decision))),
                None if anomaly is None else load_anomaly_head(Path(anomaly)),
            ),
            stack.enter_context(_file(calibration)),
            calibration_samples,
            stack.enter_context(_file(test)),
            metric,
            None if recipe is None else str(recipe),
            None if check_data is None else Path(check_data),
            tuple(load_board(name) for name in names),
            None if budget is None else parse_budget(budget),
            RecipeSearchOptions(
                trials=trials,
                workers=jobs,
                dask=dask,
                study_file=None if study is None else Path(study),
                seed=seed,
            ),
            sensitivity,
            passes,
            max_drop,
            pixels,
            auto,
            stateful,
        )
        result = run_conversion(request, progress, announce)
        verdicts = fits(result)
        suggestions = shrink_suggestions(result, verdicts, target, progress)
    write_atomic(target, result.image)
    return ConversionReport(target, result, tuple(verdicts), suggestions, tuple(result.notes))


def default_output(source: str) -> Path:
    """Return the default path of the image.

    For ``model.keras`` it is ``model.image.tflite`` in the same folder, for ``module:function`` it is
    ``function.image.tflite`` in the current folder.
    """
    path = Path(source)
    if not path.exists() and ":" in source:
        return Path(source.rpartition(":")[2] + ".image.tflite")
    path = path if path.name not in ("", "..") else path.resolve()  # "." has no name
    stem = path.name
    for ending in (".tflite", ".keras", ".h5", ".onnx", ".pt2"):
        stem = stem.removesuffix(ending)
    return path.with_name(stem + ".image.tflite")


@contextmanager
def _file(data: CalibrationData | None) -> Iterator[Path | None]:
    """Yield the path of ``data``, or None. Arrays are written to a temporary .npz file."""
    if data is None or isinstance(data, str | Path):
        yield None if data is None else Path(data)
        return
    arrays = dict(data) if isinstance(data, Mapping) else {"x": data}
    with temporary_folder("arenite-") as folder:
        path = Path(folder) / "samples.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        yield path
