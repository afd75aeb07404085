"""Show the size of a model, and whether it fits, before its conversion."""

from __future__ import annotations

import hashlib
from pathlib import Path

from arenite.converters.importers.outline.outline import Outline
from arenite.converters.importers.quantization_marks import FLOAT_FILES
from arenite.converters.importers.sources import import_source
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.calibration.random_calibration import random_calibration
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.tflite.image import Image
from arenite.converters.tflite.reader import parse
from arenite.errors import UnsupportedModelError
from arenite.host.build.fit import verdicts
from arenite.host.build.fit_verdict import FitVerdict
from arenite.host.build.prepare import Prepared, prepare_image
from arenite.host.conversion.operator_check import replace_hint
from arenite.host.conversion.request import ConversionRequest

#: Larger models are not quantized for a preview, so that the answer takes less than two seconds.
_MAX_WEIGHTS = 500_000

#: The number of random samples with which a model is calibrated for a preview.
_SAMPLES = 2

#: Bits per weight, by the type of the weights.
_BITS = {"int4": 4, "int8": 8, "float16": 16, "float": 32}


def preview(request: ConversionRequest, kind: str, outline: Outline | None, recipe: Recipe) -> str:
    """Return sentences on the size of the source after quantization with ``recipe``, and whether it fits the boards of
    ``request``. Return "" if the size is not known.

    A small TensorFlow Lite model is quantized with random numbers for this. For other sources, only the size of the
    weights is known before the import. Raises ``UnsupportedModelError`` if no kernel can run an operator of the model.
    """
    if outline is None or outline.weights is None:
        return ""
    exact = kind in FLOAT_FILES and outline.weights <= _MAX_WEIGHTS and recipe.needs_observations
    if exact:
        return _fit_sentences(request, outline.weights, recipe)
    return weights_sentence(request, outline.weights, recipe)


def weights_sentence(request: ConversionRequest, weights: int, recipe: Recipe) -> str:
    """Return a sentence on the bytes of ``weights`` weights, and on the boards of ``request`` whose flash is too
    small."""
    kind = recipe.settings.weights
    size = weights * _BITS[kind] // 8
    sentence = f"The model has {weights:,} weights, which take {size:,} bytes of flash as {kind}"
    small = [
        f"{board.name} ({board.flash_bytes:,} bytes)" for board in request.boards if board.flash_bytes < size
    ]
    return f"{sentence}: too much for {', '.join(small)}." if small else f"{sentence}."


def _fit_sentences(request: ConversionRequest, weights: int, recipe: Recipe) -> str:
    prepared = _prepared_with_random_ranges(request, recipe)
    sentences = [
        weights_sentence(request, weights, recipe),
        f"Its activations take an arena of {prepared.plan.arena_bytes:,} bytes.",
        *(_verdict_sentence(verdict) for verdict in verdicts(prepared, request.boards)),
    ]
    return " ".join(sentences)


def _verdict_sentence(verdict: FitVerdict) -> str:
    needs, board = verdict.needs, verdict.board
    answer = "It fits" if verdict.fits else "It does not fit"
    return (
        f"{answer} {board.name}: {needs.ram:,} of {board.ram_bytes:,} bytes of RAM, {needs.flash:,} of "
        f"{board.flash_bytes:,} bytes of flash."
    )


def _prepared_with_random_ranges(request: ConversionRequest, recipe: Recipe) -> Prepared:
    """Return the source, quantized with ranges from random numbers. Its sizes are those of a real conversion."""
    flatbuffer, _ = simplify(import_source(request.source, options=request.options).flatbuffer)
    inputs = random_calibration(parse(flatbuffer), _SAMPLES).inputs
    observations = observe(flatbuffer, Dataset(inputs, None, {}, "", Path("random")))
    trial = quantize(flatbuffer, recipe.without_slow_steps(), observations).flatbuffer
    image = Image(parse(trial), None, hashlib.sha256(trial).hexdigest())
    try:
        return prepare_image(image, Path(request.source), passes=request.passes)
    except UnsupportedModelError as error:
        raise replace_hint(error, recipe) from error
