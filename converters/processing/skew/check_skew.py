"""Check for training-serving skew: compare each recorded step with the library that the training pipeline used.

The library's step gets the output of Arenite's previous step, so that a difference is caused by the step for which it
is reported. For a user's own pipeline only the final result is compared. If it differs, other settings of each step are
tried, and the report names the one with the smallest difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from arenite.converters.processing.audio import reference as audio
from arenite.converters.processing.audio.front_end import is_micro
from arenite.converters.processing.audio.micro_plan import plan_micro
from arenite.converters.processing.audio.micro_reference import micro_features
from arenite.converters.processing.audio.plan import FEATURE_BITS, plan_audio
from arenite.converters.processing.image import reference as image
from arenite.converters.processing.media_files import read_picture, read_sound
from arenite.converters.processing.skew.audio_libraries import SoundSteps
from arenite.converters.processing.skew.framework_processes import Frameworks
from arenite.converters.processing.skew.image_libraries import expected, levels_of
from arenite.converters.processing.skew.micro_library import expected_micro
from arenite.converters.processing.skew.skew_report import DifferenceSums, SkewReport, StepSkewResult
from arenite.converters.processing.skew.user_pipeline import Pipeline, compare_pipeline, import_function
from arenite.converters.processing.specification import input_values
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.image_steps import (
    Colour,
    Crop,
    ImageSource,
    Letterbox,
    Resize,
)
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.processing.specification.pixel_formats import color_order
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing, Quantize
from arenite.converters.tflite.litert import single_operator
from arenite.errors import UsageError

__all__ = ["SkewReport", "StepSkewResult", "check_skew"]


def check_skew(
    spec: Preprocessing,
    sources: Sequence[str | Path | np.ndarray],
    *,
    pipeline: str | Pipeline | None = None,
    make_environments: bool = False,
) -> SkewReport:
    """Compare the results of the steps of ``spec`` with those of the training libraries.

    Args:
        spec: the recorded preprocessing.
        sources: picture or sound files, or arrays of pixels (uint8 [height, width, channels]) or samples (int16).
        pipeline: a function of the training code, or its name as ``module:function``. It converts a source to the
            network's input: real numbers in any shape with the same number of values. Its result is compared with
            that of all steps before ``quantise``.
        make_environments: whether to download TensorFlow or torch if a step follows its convention.

    Raises:
        UsageError: no sources, a source that cannot be read, or a pipeline that cannot be run.
    """
    if not sources:
        raise UsageError("There are no samples to compare on.", "Give at least one picture or sound.")
    if isinstance(spec.source, ImuSource):
        raise UsageError(
            "The steps of a motion sensor imitate no library.",
            "Compare the result of preprocess_motion with your training code (docs/processing.md).",
        )
    call = import_function(pipeline) if isinstance(pipeline, str) else pipeline
    data = [_read(spec, source) for source in sources]
    sums: dict[str, DifferenceSums] = {}
    gather = _sound if isinstance(spec.source, AudioSource) else _picture
    with Frameworks(make=make_environments) as frameworks:
        for value in data:
            for name, unit, expected, ours in gather(spec, value, frameworks):
                step_sums = sums.setdefault(name, DifferenceSums(name, unit))
                if isinstance(expected, str):
                    step_sums.skip(expected)
                else:
                    step_sums.add(ours, *expected)
    steps = [step_sums.result for step_sums in sums.values()]
    advice = ""
    if call is not None:
        pipeline_result, advice = compare_pipeline(spec, sources, data, call)
        steps.append(pipeline_result)
    return SkewReport(tuple(steps), len(data), advice)


def _read(spec: Preprocessing, source: str | Path | np.ndarray) -> np.ndarray:
    if isinstance(source, np.ndarray):
        return source
    if isinstance(spec.source, AudioSource):
        return read_sound(source, spec.source.rate)
    assert isinstance(spec.source, ImageSource)
    return read_picture(source, color_order(spec.source.format))


#: The name of a step, the unit of differences, the library's result (see ``audio_libraries.Expected``), and Arenite's
#: result.
_Comparison = tuple[str, str, tuple[np.ndarray, str, float] | str, np.ndarray]


def _picture(spec: Preprocessing, pixels: np.ndarray, frameworks: Frameworks) -> Iterator[_Comparison]:
    """Yield the comparison of each step of a picture."""
    before = image.PictureState(pixels, color_order(spec.source.format))  # type: ignore[union-attr]
    for number, (step, after) in enumerate(image.trace(spec.real, before.pixels, before.order)):
        if isinstance(step, (Colour, Crop, Resize, Letterbox)):
            yield f"{number + 1} {step.do}", "levels", expected(step, before, frameworks), levels_of(after)
            before = after
        else:
            yield from _normalize_and_quantize(
                spec, levels_of(before), after.pixels, levels_of(before).shape[2]
            )


def _sound(spec: Preprocessing, samples: np.ndarray, frameworks: Frameworks) -> Iterator[_Comparison]:
    """Yield the comparison of each stage of a recording."""
    if is_micro(spec):
        yield from _micro(spec, samples)
        return
    plan = plan_audio(spec.real)
    steps = SoundSteps(spec, plan, frameworks)
    before: np.ndarray = samples
    for stage, values in audio.trace(plan, samples):
        expected = steps.expected(stage, before)
        ours, unit = values, "in absolute value"
        if stage in ("spectrum", "mel"):
            # Differences are relative to the largest value: before the logarithm, the noise floor does not matter.
            largest = max(float(np.max(values, initial=0)), 1e-30)
            ours, unit = values / largest, "of the largest value"
            expected = expected if isinstance(expected, str) else (expected[0] / largest, *expected[1:])
        else:
            ours = values / (1 << FEATURE_BITS)
        yield stage, unit, expected, ours
        before = values
    real = input_values.apply_affine(spec.real, plan.affine, before[..., np.newaxis])
    yield from _normalize_and_quantize(spec, before[..., np.newaxis] / (1 << FEATURE_BITS), real, 1)


def _micro(spec: Preprocessing, samples: np.ndarray) -> Iterator[_Comparison]:
    """Yield the comparison of the micro front end, and of the steps after it."""
    micro = plan_micro(spec.real)
    features = micro_features(micro, samples)
    yield "micro", "in absolute value", expected_micro(spec, micro, samples), features
    fixed = (features << FEATURE_BITS)[..., np.newaxis]
    real = input_values.apply_affine(spec.real, micro.affine, fixed)
    yield from _normalize_and_quantize(spec, features[..., np.newaxis], real, 1)


def _normalize_and_quantize(
    spec: Preprocessing, before: np.ndarray, real: np.ndarray, channels: int
) -> Iterator[_Comparison]:
    """Yield the comparison of the normalize step with double precision, and of the quantize step with LiteRT.

    ``before`` has the values before the normalize step, and ``real`` Arenite's float32 result of it.
    """
    step = input_values.normalize_step_of(spec)
    parameters = np.array(input_values.channel_parameters(spec, channels))
    theirs = (before / step.divide - parameters[:, 0]) / parameters[:, 1]
    if any(isinstance(s, Normalize) for s in spec.steps):
        # The rounding errors of single precision and of inputs with 16 fractional bits.
        allowed = 1e-6 * max(float(np.abs(theirs).max(initial=0)), 1.0) + 2.0**-15 / (
            step.divide * float(parameters[:, 1].min())
        )
        yield "normalise", "in absolute value", (theirs, f"NumPy {np.__version__}", allowed), real
    q = spec.quantize_step
    if isinstance(q, Quantize):
        stored = single_operator.run_quantize(real, q.dtype, q.scale, q.zero_point)
        name = f"LiteRT {version('ai-edge-litert')}"
        yield (
            "quantise",
            "steps",
            (stored.astype(np.float64), name, 0.0),
            input_values.quantized_values(spec, real),
        )
