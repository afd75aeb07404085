"""Define and check the options of a conversion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arenite.converters.importers.imported_model import ImportOptions
from arenite.converters.quantize.dataset.dataset import MIN_SAMPLES
from arenite.converters.quantize.scoring.metrics import check_metric
from arenite.converters.quantize.search.budget import Budget
from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions as SearchOptions
from arenite.errors import UsageError
from arenite.host.build.attachments import Attachments
from arenite.profiles.boards import Board

#: A function that shows progress. It is called with the name of the step, the finished amount of its work, and the
#: total amount (0 if it is not known).
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class ConversionRequest:
    """The options of the user. ``arenite convert --help`` describes each option.

    ``calibration_samples`` is the number of samples to calibrate with; they are evenly spread. Without ``test``, the
    remaining samples are used for the score. ``budget`` requests a recipe search for the first of ``boards``.
    ``max_drop`` is a fraction (0.01 is one percentage point). If ``auto`` is true, the cheapest recipe that loses at
    most ``max_drop`` is used; without a limit it is ``DEFAULT_LIMIT``. ``pixels`` is one of ``PIXEL_RANGES``; it
    determines the preprocessing of pictures if ``attachments`` has no preprocessing. If ``calibration`` is the path
    ``random``, random numbers are used. If ``stateful``, the scores of a model with state continue from each sample to
    the next.
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
    max_drop: float | None = None
    pixels: str | None = None
    auto: bool = False
    stateful: bool = False

    @property
    def calibrates_with_random(self) -> bool:
        """Whether random numbers replace calibration samples. This is so for ``--calibration random``, unless a file
        with the name ``random`` exists."""
        return (
            self.calibration is not None
            and str(self.calibration) == "random"
            and not self.calibration.exists()
        )


def check_request(request: ConversionRequest) -> None:
    """Raise ``UsageError`` if a required file or option is missing. This is called before the steps that take
    minutes."""
    if request.metric is not None:
        check_metric(request.metric)
    if request.calibration_samples is not None and request.calibration_samples < MIN_SAMPLES:
        raise UsageError(
            f"{request.calibration_samples} samples are too few to calibrate; at least {MIN_SAMPLES} are needed.",
            "Give a hundred or more samples that are similar to those in the field.",
        )
    for path in (request.calibration, request.test, request.field_data):
        random = path is request.calibration and request.calibrates_with_random
        if path is not None and not path.exists() and not random:
            raise UsageError(
                f"{path} does not exist.", "Give an .npz file with x and y, or a folder of samples."
            )
    if request.auto and request.budget is not None:
        raise UsageError(
            "--auto and --budget both choose the recipe.",
            'Give one of them; --budget "drop=0.5%,..." limits the loss too.',
        )
    if request.auto and request.calibration is None:
        raise UsageError("--auto needs real inputs, because it compares outputs.", "Add --calibration.")
    if request.budget is not None and not request.boards:
        raise UsageError("A budget needs a board.", "Give one with --board; `arenite boards` lists them.")
    if (request.budget is not None or request.field_data is not None) and request.calibration is None:
        raise UsageError("A search and a check of field data need calibration samples.", "Add --calibration.")
    if request.max_drop is not None and request.calibration is None and request.test is None:
        raise UsageError("--max-drop needs samples for a score.", "Add --test or --calibration.")
    if request.calibrates_with_random and (
        request.budget is not None
        or request.auto
        or request.max_drop is not None
        or request.field_data is not None
        or request.test is not None
        or request.sensitivity
    ):
        raise UsageError(
            "--calibration random only shows sizes, but --auto, --budget, --max-drop, --test, --check-data and"
            " --sensitivity compare outputs.",
            "Give real inputs with --calibration FILE.npz or a folder.",
        )


def check_class_names(path: Path, classes: Sequence[str], labels: Sequence[str]) -> None:
    """Raise ``UsageError`` for a class of the folder ``path`` that is not one of the model's ``labels``.

    Any class is accepted if there are no labels, or if the file ``labels.txt`` in the folder has the order of the
    classes.
    """
    unknown_classes = [name for name in classes if name not in labels]
    if labels and unknown_classes and not (path / "labels.txt").is_file():
        raise UsageError(
            f"{path} has the class '{unknown_classes[0]}', which is not a label of the model:"
            f" {', '.join(labels)[:200]}.",
            "Name the classes after the labels, or by their numbers.",
        )
