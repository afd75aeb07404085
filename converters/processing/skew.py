"""Training–serving skew: each recorded step against the code of the library that the training pipeline used.

Each step is given what our steps before it made, so that a difference belongs to the step that it is reported for. A
pipeline of the user's own is compared at its end; when that differs, other conventions of each step are tried, and the
first whose change takes the difference away is named.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.errors import UsageError
from arenite.converters.processing import audio, image, levels, litert_ops
from arenite.converters.processing.audio_plan import FEATURE_BITS, plan_audio
from arenite.converters.processing.colour import order_of
from arenite.converters.processing.files import read_picture, read_sound
from arenite.converters.processing.frameworks import Frameworks
from arenite.converters.processing.skew_audio import SoundSteps
from arenite.converters.processing.skew_image import expected, levels_of
from arenite.converters.processing.spec import Normalise, Preprocessing, Quantise
from arenite.converters.processing.steps_audio import AudioSource, Mel, Window
from arenite.converters.processing.steps_image import PAIRS, Colour, Crop, Letterbox, Resize

SCHEMA = "arenite.skew/1"
Pipeline = Callable[[Any], Any]


@dataclass(frozen=True)
class StepSkew:
    """One step over all samples. ``library`` is "" when nothing could be compared; ``why`` then says why.

    ``unit``: of the differences: levels of a pixel, the largest value of a spectrum, or those of the step's result.
    ``allowed``: up to where a difference is rounding.
    """

    step: str
    library: str
    unit: str
    values: int = 0
    differing: int = 0
    max_abs: float = 0.0
    mean_abs: float = 0.0
    allowed: float = 0.0
    why: str = ""

    @property
    def agrees(self) -> bool:
        return self.max_abs <= self.allowed

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"agrees": self.agrees}


@dataclass(frozen=True)
class Skew:
    """``first``: the first step that differs by more than rounding, None when all agree. ``advice``: what to change."""

    steps: tuple[StepSkew, ...]
    samples: int
    advice: str = ""

    @property
    def first(self) -> StepSkew | None:
        return next((s for s in self.steps if not s.agrees), None)

    @property
    def agrees(self) -> bool:
        return self.first is None

    def sentence(self) -> str:
        """What was found, in a sentence or two."""
        if self.first is None:
            missing = [s.step for s in self.steps if s.why]
            more = f" Not compared: {', '.join(missing)}." if missing else ""
            return f"All steps agree with the training libraries up to rounding.{more}"
        s = self.first
        share = 100 * s.differing / max(s.values, 1)
        return (
            f"The step '{s.step}' differs from {s.library} by up to {s.max_abs:.4g} {s.unit} "
            f"({s.mean_abs:.4g} on average, {share:.1f} % of the values). {self.advice}".strip()
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "samples": self.samples,
            "agrees": self.agrees,
            "first": self.first.step if self.first else None,
            "advice": self.advice,
            "steps": [step.to_json() for step in self.steps],
        }


class _Sums:
    """Differences of one step, gathered over samples."""

    def __init__(self, step: str, unit: str) -> None:
        self.found = StepSkew(step, "", unit)
        self._total = 0.0

    def add(self, ours: np.ndarray, theirs: np.ndarray, library: str, allowed: float) -> None:
        if ours.shape != theirs.shape:
            raise UsageError(
                f"The step '{self.found.step}' makes {ours.shape}, {library} makes {theirs.shape}.",
                "Correct the sizes in the preprocessing's steps.",
            )
        difference = np.abs(ours.astype(np.float64) - theirs)
        self._total += float(difference.sum())
        values = self.found.values + difference.size
        self.found = replace(
            self.found,
            library=library,
            values=values,
            differing=self.found.differing + int((difference > 0).sum()),
            max_abs=max(self.found.max_abs, float(difference.max(initial=0))),
            mean_abs=self._total / max(values, 1),
            allowed=max(self.found.allowed, allowed),
        )

    def skip(self, why: str) -> None:
        self.found = replace(self.found, why=why)


def check_skew(
    spec: Preprocessing,
    sources: Sequence[str | Path | np.ndarray],
    *,
    pipeline: str | Pipeline | None = None,
    make_environments: bool = False,
) -> Skew:
    """Compare the steps of ``spec`` with the training libraries, on samples.

    Args:
        spec: the recorded preprocessing.
        sources: files, or pixels (uint8 [height, width, channels]) and samples (int16).
        pipeline: ``module:function`` or a function of the training code: a source to what the network is given (real
            numbers, any shape with as many values). Compared with the result of all steps before quantise.
        make_environments: download TensorFlow or torch for steps that are theirs.

    Raises:
        UsageError: no sources, one that cannot be read, or a pipeline that cannot be run.
    """
    if not sources:
        raise UsageError("There is nothing to compare on.", "Give some pictures or sounds.")
    call = _function(pipeline) if isinstance(pipeline, str) else pipeline
    data = [_read(spec, source) for source in sources]
    sums: dict[str, _Sums] = {}
    gather = _sound if isinstance(spec.source, AudioSource) else _picture
    with Frameworks(make=make_environments) as frameworks:
        for value in data:
            for name, unit, found, ours in gather(spec, value, frameworks):
                place = sums.setdefault(name, _Sums(name, unit))
                if isinstance(found, str):
                    place.skip(found)
                else:
                    place.add(ours, *found)
    steps = [place.found for place in sums.values()]
    advice = ""
    if call is not None:
        own, advice = _pipeline(spec, sources, data, call)
        steps.append(own)
    return Skew(tuple(steps), len(data), advice)


def _read(spec: Preprocessing, source: str | Path | np.ndarray) -> np.ndarray:
    if isinstance(source, np.ndarray):
        return source
    if isinstance(spec.source, AudioSource):
        return read_sound(source, spec.source.rate)
    return read_picture(source, order_of(spec.source.format))


_Found = tuple[str, str, tuple[np.ndarray, str, float] | str, np.ndarray]


def _picture(spec: Preprocessing, pixels: np.ndarray, frameworks: Frameworks) -> Iterator[_Found]:
    before = image.Picture(pixels, order_of(spec.source.format))  # type: ignore[union-attr]
    for number, (step, after) in enumerate(image.trace(spec.real, before.pixels, before.order)):
        if isinstance(step, (Colour, Crop, Resize, Letterbox)):
            yield f"{number + 1} {step.do}", "levels", expected(step, before, frameworks), levels_of(after)
            before = after
        else:
            yield from _tail(spec, levels_of(before), after.pixels, levels_of(before).shape[2])


def _sound(spec: Preprocessing, samples: np.ndarray, frameworks: Frameworks) -> Iterator[_Found]:
    plan = plan_audio(spec.real)
    steps = SoundSteps(spec, plan, frameworks)
    before: np.ndarray = samples
    for stage, made in audio.trace(plan, samples):
        found = steps.expected(stage, before)
        ours, unit = made, "of its result"
        if stage in ("spectrum", "mel"):
            # Relative to the largest: a difference at the noise floor means nothing before the logarithm.
            most = max(float(np.max(made, initial=0)), 1e-30)
            ours, unit = made / most, "of the largest value"
            found = found if isinstance(found, str) else (found[0] / most, *found[1:])
        else:
            ours = made / (1 << FEATURE_BITS)
        yield stage, unit, found, ours
        before = made
    real = levels.apply_affine(spec.real, plan.affine, made[..., np.newaxis])
    yield from _tail(spec, made[..., np.newaxis] / (1 << FEATURE_BITS), real, 1)


def _tail(spec: Preprocessing, before: np.ndarray, real: np.ndarray, channels: int) -> Iterator[_Found]:
    """Normalise, in double precision, and quantise, by LiteRT."""
    step = levels.normalise_of(spec)
    parameters = np.array(levels.channel_parameters(spec, channels))
    theirs = (before / step.divide - parameters[:, 0]) / parameters[:, 1]
    if any(isinstance(s, Normalise) for s in spec.steps):
        # Single precision, and 16 fractional bits of what comes in.
        allowed = 1e-6 * max(float(np.abs(theirs).max(initial=0)), 1.0) + 2.0**-15 / (
            step.divide * float(parameters[:, 1].min())
        )
        yield "normalise", "of its result", (theirs, f"NumPy {np.__version__}", allowed), real
    q = spec.quantise
    if isinstance(q, Quantise):
        made = litert_ops.quantise(real, q.dtype, q.scale, q.zero_point)
        name = f"LiteRT {version('ai-edge-litert')}"
        yield "quantise", "steps", (made.astype(np.float64), name, 0.0), levels.quantised(spec, real)


def _function(text: str) -> Pipeline:
    module, separator, name = text.partition(":")
    hint = "Give it as module:function, importable from here."
    if not separator:
        raise UsageError(f"'{text}' names no function.", hint)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise UsageError(f"Cannot import '{text}': {error}.", hint) from error


def _pipeline(
    spec: Preprocessing,
    sources: Sequence[str | Path | np.ndarray],
    data: Sequence[np.ndarray],
    call: Pipeline,
) -> tuple[StepSkew, str]:
    """The user's own function against all steps; and what to change where it differs."""
    theirs = []
    for source in sources:
        try:
            made = np.asarray(call(source if isinstance(source, np.ndarray) else str(source)), np.float64)
        except Exception as error:
            raise UsageError(
                f"The pipeline fails: {type(error).__name__}: {error}.", "Try it alone on one sample first."
            ) from error
        theirs.append(made)
    own = _against(spec, data, theirs)
    if own.agrees:
        return own, ""
    best, how = own.mean_abs, ""
    for changed, words in _variants(spec):
        try:
            found = _against(changed, data, theirs)
        except UsageError:
            continue
        if found.mean_abs < best * 0.5:
            best, how = found.mean_abs, words
    if not how:
        return own, "No other convention of a step comes closer."
    return own, f"Closer by far, {best:.4g} on average: {how}."


def _against(spec: Preprocessing, data: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> StepSkew:
    place = _Sums("the pipeline as a whole", "of its result")
    real = spec.real
    for value, other in zip(data, theirs, strict=True):
        if isinstance(spec.source, AudioSource):
            ours = audio.preprocess_audio(real, value)
        else:
            ours = image.preprocess_image(real, value, order_of(spec.source.format))
        if ours.size != other.size:
            raise UsageError(
                f"The steps make {ours.shape}, the pipeline makes {other.shape}.",
                "Correct the sizes in the preprocessing's steps.",
            )
        step = levels.normalise_of(spec)
        # A level of a pixel, or what is rounding in a logarithm.
        allowed = (0.01 if isinstance(spec.source, AudioSource) else 1.0) / (
            step.divide * min(step.std)
        ) + 1e-6
        place.add(ours.reshape(other.shape), other, "the training pipeline", allowed)
    return place.found


def _variants(spec: Preprocessing) -> Iterator[tuple[Preprocessing, str]]:
    """The same with one thing of one step changed, and what that is."""
    for k, step in enumerate(spec.steps):

        def changed(words: str, *, at: int = k, **fields: Any) -> tuple[Preprocessing, str]:
            steps = list(spec.steps)
            steps[at] = replace(steps[at], **fields)
            return replace(spec, steps=tuple(steps)), f"step {at + 1} ({steps[at].do}) with {words}"

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
        elif isinstance(step, Window):
            yield changed("the other period", periodic=not step.periodic)
        elif isinstance(step, Normalise):
            for divide in (1.0, 127.5, 128.0, 255.0, 256.0):
                for mean in (0.0, 0.5, 1.0):
                    words = f"divide {divide:g}, mean {mean:g}, std 1"
                    yield changed(words, divide=divide, mean=(mean,), std=(1.0,))
    if not isinstance(spec.source, AudioSource) and not any(isinstance(s, Colour) for s in spec.steps):
        for to in ("rgb", "bgr"):
            if to != order_of(spec.source.format):
                yield replace(spec, steps=(Colour(to), *spec.steps)), f"a first step colour to {to}"
