"""Check a conversion's options, samples and source before any framework starts.

An import takes up to minutes. These checks read file names, headers, folders, the outline of the source (its inputs,
outputs and layers) and as many samples as fit into the time. They take less than two seconds.
"""

from __future__ import annotations

from pathlib import Path

from arenite.array_files import read_array_names
from arenite.converters.importers.factory_module import check_factory
from arenite.converters.importers.outline.outline import Outline
from arenite.converters.importers.outline.read_outline import read_outline
from arenite.converters.importers.quantization_marks import FLOAT_FILES, may_be_quantized
from arenite.converters.importers.source_kinds import TFLITE_QUANTIZED, TORCH_FACTORY, source_kind
from arenite.converters.processing.specification.pixel_ranges import PIXEL_RANGES
from arenite.converters.quantize.dataset.dataset import check_count
from arenite.converters.quantize.dataset.sample_files import ARRAYS
from arenite.converters.quantize.dataset.sample_folders import classes_of, sample_paths
from arenite.converters.quantize.recipes.recipe import Recipe, shipped_recipes
from arenite.errors import UsageError
from arenite.host.build.zoo_names import refuse_zoo_name
from arenite.host.conversion.preview import preview, weights_sentence
from arenite.host.conversion.request import ConversionRequest, check_class_names
from arenite.host.conversion.source_check import check_graph, check_samples, check_signature


def check_before_import(request: ConversionRequest, recipe: Recipe) -> str:
    """Check everything that is known to fail before the source is imported. Return a sentence on the size of the model
    if its import takes long, else "".

    Args:
        request: the options.
        recipe: the recipe with which a float source is quantized.

    Raises ``UsageError`` and ``ModelError``.
    """
    refuse_zoo_name(request.source)
    kind = source_kind(request.source)
    check_signature(request, kind)
    if kind == TORCH_FACTORY:
        check_factory(request.source)
    if request.pixels is not None and request.attachments.preprocessing is not None:
        raise UsageError(
            "--pixels and --preprocessing both say how pictures become the model's input.",
            "Give one of them.",
        )
    if request.pixels is not None and request.pixels not in PIXEL_RANGES:
        raise UsageError(
            f"--pixels does not take '{request.pixels}'.", f"Give one of {', '.join(PIXEL_RANGES)}."
        )
    if kind == TFLITE_QUANTIZED:  # preprocessing and labels may be in the image; reading it takes little time
        return ""
    outline = read_outline(request.source, kind, request.options.signature, request.options.shape)
    if outline is not None:
        check_graph(request, kind, outline)
    if not may_be_quantized(request.source, kind):
        check_recipe(request, recipe, kind, outline)
    for path in (request.calibration, request.test, request.field_data):
        if path is not None and not (path == request.calibration and request.calibrates_with_random):
            _check_samples(request, path, calibration=path == request.calibration)
    if outline is None:
        return ""
    check_samples(request, outline)
    if kind in FLOAT_FILES or not outline.weights:
        return ""
    return weights_sentence(request, outline.weights, recipe)


def check_recipe(
    request: ConversionRequest, recipe: Recipe, kind: str = "", outline: Outline | None = None
) -> None:
    """Raise ``UsageError`` if a float model cannot be quantized with ``recipe`` and the options of ``request``.

    ``kind`` and ``outline`` are what ``source_kind`` and ``read_outline`` return for the source. If calibration samples
    are missing, the error says how large the model is.
    """
    if recipe.settings.activations == "float" and request.boards:
        raise UsageError(
            f"The recipe '{recipe.name}' has float activations, which no microcontroller runs.",
            "Leave out --board, or choose an integer recipe.",
        )
    if request.auto and recipe.settings.activations == "float":
        raise UsageError(
            f"--auto gives layers int8 or int16 activations, and the recipe '{recipe.name}' has float activations.",
            "Leave out --auto, or choose an integer recipe.",
        )
    if not recipe.needs_observations and (request.field_data is not None or request.sensitivity):
        raise UsageError(
            f"The recipe '{recipe.name}' has float activations: it has no scales to check with field"
            " data, and no layers to compare.",
            "Leave out --check-data and --sensitivity, or choose an integer recipe.",
        )
    if request.calibration is None and recipe.needs_observations:
        size = preview(request, kind, outline, recipe)
        free = [name for name, shipped in shipped_recipes().items() if not shipped.needs_observations]
        raise UsageError(
            f"{request.source} is a float model, and the recipe '{recipe.name}' needs calibration samples."
            f"{' ' * bool(size)}{size}",
            "Give real inputs with --calibration FILE.npz or a folder; a few hundred are enough. "
            "--calibration random shows the sizes and whether the model fits a board, without useful outputs. "
            f"The recipes {', '.join(free)} need no samples, but their models run only on host computers.",
        )


def _check_samples(request: ConversionRequest, path: Path, *, calibration: bool) -> None:
    """Check the file types, number and classes of the samples at ``path``. Raises ``UsageError`` if they are not
    suitable."""
    if path.is_dir():
        has_preprocessing = request.pixels is not None or request.attachments.preprocessing is not None
        files = sample_paths(path, has_preprocessing)
        if files[0].suffix.lower() in ARRAYS:  # such a file may contain its own labels, and several samples
            return
        _, classes = classes_of(path, files, files)
        check_class_names(path, classes, request.attachments.labels)
        if calibration:
            check_count(str(path), len(files))
    elif path.suffix.lower() == ".npz":
        try:
            names = read_array_names(path)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"Cannot read {path}: {error}.", "Write it with numpy.savez(path, x=..., y=...)."
            ) from error
        if not {"x", "x0"} & set(names):
            raise UsageError(
                f"{path} has no array 'x'; it has {', '.join(map(repr, names)) or 'none'}.",
                "One input is called x; several are called x0, x1, ...; labels are called y.",
            )
