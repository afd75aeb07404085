"""Compare a user's own training pipeline with all recorded steps, and find a change that makes them agree."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from arenite.converters.processing.audio import reference as audio
from arenite.converters.processing.image import reference as image
from arenite.converters.processing.skew.skew_report import DifferenceSums, StepSkewResult
from arenite.converters.processing.specification import input_values
from arenite.converters.processing.specification.audio_steps import AudioSource, AudioWindow, Mel
from arenite.converters.processing.specification.image_steps import PAIRS, Colour, Crop, Letterbox, Resize
from arenite.converters.processing.specification.pixel_formats import order_of
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing
from arenite.errors import UsageError

Pipeline = Callable[[Any], Any]


def function_named(text: str) -> Pipeline:
    module, separator, name = text.partition(":")
    hint = "Give module:function, with a module that can be imported from the current folder."
    if not separator:
        raise UsageError(f"'{text}' names no function.", hint)
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
    """Compare the user's own function with all steps. Return the result, and if they differ a change to try."""
    theirs = []
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
        theirs.append(pipeline_result)
    own = _difference(spec, data, theirs)
    if own.agrees:
        return own, ""
    best, advice = own.mean_abs, ""
    for changed, description in _variants(spec):
        try:
            difference = _difference(changed, data, theirs)
        except UsageError:
            continue
        if difference.mean_abs < best * 0.5:
            best, advice = difference.mean_abs, description
    if not advice:
        return own, "No other convention of a step gives a much smaller difference."
    return own, f"A much smaller difference, {best:.4g} on average: {advice}."


def _difference(
    spec: Preprocessing, data: Sequence[np.ndarray], theirs: Sequence[np.ndarray]
) -> StepSkewResult:
    difference = DifferenceSums("the pipeline as a whole", "of its result")
    real = spec.real
    for value, other in zip(data, theirs, strict=True):
        if isinstance(spec.source, AudioSource):
            ours = audio.preprocess_audio(real, value)
        else:
            ours = image.preprocess_image(real, value, order_of(spec.source.format))
        if ours.size != other.size:
            raise UsageError(
                f"The steps give the shape {ours.shape}, but the pipeline gives {other.shape}.",
                "Correct the sizes in the preprocessing's steps.",
            )
        step = input_values.normalize_step_of(spec)
        # One level of a pixel, or the rounding of a logarithm.
        allowed = (0.01 if isinstance(spec.source, AudioSource) else 1.0) / (
            step.divide * min(step.std)
        ) + 1e-6
        difference.add(ours.reshape(other.shape), other, "the training pipeline", allowed)
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
                yield changed(f"to {to}", to=to)
            yield changed("the other convention", convention="opencv" if step.convention == "pil" else "pil")
        elif isinstance(step, Crop):
            yield changed("the other rounding", rounding="even" if step.rounding == "down" else "down")
        elif isinstance(step, Mel):
            for convention in ("tf", "librosa", "htk"):
                if convention != step.convention:
                    yield changed(f"convention {convention}", convention=convention)
        elif isinstance(step, AudioWindow):
            yield changed("the other period", periodic=not step.periodic)
        elif isinstance(step, Normalize):
            for divide in (1.0, 127.5, 128.0, 255.0, 256.0):
                for mean in (0.0, 0.5, 1.0):
                    words = f"divide {divide:g}, mean {mean:g}, std 1"
                    yield changed(words, divide=divide, mean=(mean,), std=(1.0,))
    if not isinstance(spec.source, AudioSource) and not any(isinstance(s, Colour) for s in spec.steps):
        for to in ("rgb", "bgr"):
            if to != order_of(spec.source.format):
                yield replace(spec, steps=(Colour(to), *spec.steps)), f"a first step colour to {to}"
