"""Compare a user's own training pipeline with all recorded steps, and search for a change of one step that
makes the results agree."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from arenite.converters.processing.audio.front_end import preprocess_sound
from arenite.converters.processing.image import reference as image
from arenite.converters.processing.skew.skew_report import WHOLE_PIPELINE, DifferenceSums, StepSkewResult
from arenite.converters.processing.specification import input_values
from arenite.converters.processing.specification.audio_steps import AudioSource, AudioWindow, Mel
from arenite.converters.processing.specification.image_steps import (
    PAIRS,
    Colour,
    Crop,
    ImageSource,
    Letterbox,
    Resize,
)
from arenite.converters.processing.specification.pixel_formats import color_order
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing
from arenite.errors import UsageError

Pipeline = Callable[[Any], Any]


def import_function(text: str) -> Pipeline:
    """Return the function ``module:function``. Raises ``UsageError`` if it cannot be imported."""
    module, separator, name = text.partition(":")
    hint = "Give module:function, with a module that can be imported from the current folder."
    if not separator:
        raise UsageError(f"'{text}' contains no ':' between a module and a function.", hint)
    current_folder = str(Path.cwd())
    if current_folder not in sys.path:
        sys.path.insert(0, current_folder)
    try:
        return cast(Pipeline, getattr(importlib.import_module(module), name))
    except (ImportError, AttributeError, SyntaxError) as error:
        raise UsageError(f"Cannot import '{text}': {error}.", hint) from error


def compare_pipeline(
    spec: Preprocessing,
    sources: Sequence[str | Path | np.ndarray],
    data: Sequence[np.ndarray],
    call: Pipeline,
) -> tuple[StepSkewResult, str]:
    """Compare the results of the user's function ``call`` with those of all steps of ``spec``.

    ``data`` has the pixels or samples of ``sources``. Return the comparison and an advice: "" if the results agree,
    else the one change of a step that makes the difference smallest, or that there is none. Raises ``UsageError`` if
    the function fails or returns another number of values.
    """
    user_results = []
    for source in sources:
        try:
            pipeline_result = np.asarray(
                call(source if isinstance(source, np.ndarray) else str(source)), np.float64
            )
        except Exception as error:
            raise UsageError(
                f"The pipeline fails: {type(error).__name__}: {error}.",
                "Call the function on one sample without Arenite first.",
            ) from error
        user_results.append(pipeline_result)
    result = _compare(spec, data, user_results)
    if result.agrees:
        return result, ""
    best, advice = result.mean_abs, ""
    for changed, description in _variants(spec):
        try:
            difference = _compare(changed, data, user_results)
        except UsageError:
            continue
        if difference.mean_abs < best * 0.5:  # only a change that halves the difference counts
            best, advice = difference.mean_abs, description
    if not advice:
        return result, "No change of a single step gives a much smaller difference."
    return result, f"The mean difference is only {best:.4g} with this change: {advice}."


def _compare(
    spec: Preprocessing, data: Sequence[np.ndarray], user_results: Sequence[np.ndarray]
) -> StepSkewResult:
    """Compare the results of all steps before quantize with the user's results, one per sample."""
    difference = DifferenceSums(WHOLE_PIPELINE, "in absolute value")
    real = spec.real
    for value, user_result in zip(data, user_results, strict=True):
        if isinstance(spec.source, AudioSource):
            ours = preprocess_sound(real, value)
        else:
            assert isinstance(spec.source, ImageSource)
            ours = image.preprocess_image(real, value, color_order(spec.source.format))
        if ours.size != user_result.size:
            raise UsageError(
                f"The steps give the shape {ours.shape}, but the pipeline gives {user_result.shape}.",
                "Correct the sizes in the preprocessing's steps.",
            )
        step = input_values.normalize_step_of(spec)
        # Allow a difference of one level of a pixel, or of 0.01 in an audio feature (rounding of the logarithm),
        # divided as the normalize step does.
        allowed = (0.01 if isinstance(spec.source, AudioSource) else 1.0) / (
            step.divide * min(step.std)
        ) + 1e-6
        difference.add(ours.reshape(user_result.shape), user_result, "the training pipeline", allowed)
    return difference.result


def _variants(spec: Preprocessing) -> Iterator[tuple[Preprocessing, str]]:
    """Yield variants of ``spec`` with one setting of one step changed, each with a description of the change."""
    for k, step in enumerate(spec.steps):

        def changed(description: str, *, at: int = k, **fields: Any) -> tuple[Preprocessing, str]:
            steps = list(spec.steps)
            steps[at] = replace(steps[at], **fields)
            return replace(spec, steps=tuple(steps)), f"step {at + 1} ({steps[at].do}) with {description}"

        if isinstance(step, (Resize, Letterbox)):
            for convention, methods in PAIRS.items():
                for method in methods:
                    if (convention, method) != (step.convention, step.method):
                        words = f"method {method}, convention {convention}"
                        yield changed(words, method=method, convention=convention)
        elif isinstance(step, Colour):
            for to in {"rgb": ("bgr",), "bgr": ("rgb",), "grey": ()}[step.to]:
                yield changed(f"to = {to}", to=to)
            convention = "opencv" if step.convention == "pil" else "pil"
            yield changed(f"convention {convention}", convention=convention)
        elif isinstance(step, Crop):
            rounding = "even" if step.rounding == "down" else "down"
            yield changed(f"rounding {rounding}", rounding=rounding)
        elif isinstance(step, Mel):
            for convention in ("tf", "librosa", "htk"):
                if convention != step.convention:
                    yield changed(f"convention {convention}", convention=convention)
        elif isinstance(step, AudioWindow):
            yield changed(f"periodic {str(not step.periodic).lower()}", periodic=not step.periodic)
        elif isinstance(step, Normalize):
            for divide in (1.0, 127.5, 128.0, 255.0, 256.0):
                for mean in (0.0, 0.5, 1.0):
                    words = f"divide {divide:g}, mean {mean:g}, std 1"
                    yield changed(words, divide=divide, mean=(mean,), std=(1.0,))
    if isinstance(spec.source, ImageSource) and not any(isinstance(s, Colour) for s in spec.steps):
        for to in ("rgb", "bgr"):
            if to != color_order(spec.source.format):
                yield (
                    replace(spec, steps=(Colour(to), *spec.steps)),
                    f"an additional first step (colour) with to = {to}",
                )
