"""Preprocess with the compiled library, or with NumPy if there is no library. Both give the same bytes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from arenite.converters.processing.audio.front_end import plan_sound, preprocess_sound
from arenite.converters.processing.audio.stream import AudioStream
from arenite.converters.processing.image.plan import plan_image
from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.imu.reference import preprocess_imu
from arenite.converters.processing.imu.stream import ImuStream
from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.compiled_preprocessing import CompiledAudio, CompiledImage
from arenite.converters.processing.native.compiled_stream import CompiledImuStream, CompiledStream
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.processing.specification.pixel_formats import color_order, unpack
from arenite.converters.processing.specification.preprocessing import Preprocessing


def preprocess_pixels(
    spec: Preprocessing, data: np.ndarray, format: str, width: int, height: int
) -> np.ndarray:
    """Return the model's input [height, width, channels] for a picture.

    ``data`` is a buffer of uint8 without gaps, in one of ``image_steps.FORMATS``. The result has the type of the
    quantize step of ``spec``, or is float32 without such a step.
    """
    library = native.library()
    if library is None:
        return preprocess_image(spec, unpack(data, format, width, height), color_order(format))
    return _image(spec, format, width, height).run(data)


def preprocess_samples(spec: Preprocessing, samples: np.ndarray) -> np.ndarray:
    """Return the model's input [frames, features] for int16 samples. It has the type of the quantize step of
    ``spec``, or is float32 without such a step."""
    return preprocess_sound(spec, samples) if native.library() is None else _audio(spec).run(samples)


def preprocess_motion(spec: Preprocessing, samples: np.ndarray) -> np.ndarray:
    """Return the model's input [axes, features], or [window, axes] without steps, for int16 samples [moments, axes] of
    a motion sensor. It has the type of the quantize step of ``spec``, or is float32 without such a step."""
    source = spec.source
    library = native.library()
    if library is None:
        return preprocess_imu(spec, samples)
    assert isinstance(source, ImuSource)
    window = np.zeros((source.window, source.axes), np.int16)
    recorded = samples.reshape(-1, source.axes)[: source.window]
    window[: len(recorded)] = recorded
    return CompiledImuStream(library, spec).feed(window)[0].features


def open_stream(
    spec: Preprocessing, advance: int = 1
) -> AudioStream | CompiledStream | ImuStream | CompiledImuStream:
    """Return a stream that computes the model's input for an endless recording. ``advance`` is the number of new rows
    of features from one input to the next, for sound. Raises ``UsageError`` for steps that need a whole recording."""
    library = native.library()
    if isinstance(spec.source, ImuSource):
        return ImuStream(spec) if library is None else CompiledImuStream(library, spec)
    return AudioStream(spec, advance) if library is None else CompiledStream(library, spec, advance)


# Plans are cached, because making a plan takes longer than running it, and all pictures of a folder often have one
# size.
@lru_cache(8)
def _image(spec: Preprocessing, format: str, width: int, height: int) -> CompiledImage:
    library = native.library()
    assert library is not None
    return CompiledImage(library, plan_image(spec, format, width, height))


@lru_cache(8)
def _audio(spec: Preprocessing) -> CompiledAudio:
    library = native.library()
    assert library is not None
    return CompiledAudio(library, plan_sound(spec))
