"""Preprocessing by the compiled library, or by NumPy where there is none: both give the same bytes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from arenite.converters.processing.audio.plan import plan_audio
from arenite.converters.processing.audio.reference import preprocess_audio
from arenite.converters.processing.image.plan import plan_image
from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.compiled_preprocessing import CompiledAudio, CompiledImage
from arenite.converters.processing.specification.pixel_formats import order_of, unpack
from arenite.converters.processing.specification.preprocessing import Preprocessing


def preprocess_pixels(
    spec: Preprocessing, data: np.ndarray, format: str, width: int, height: int
) -> np.ndarray:
    """A buffer of uint8 without gaps, of one of ``image_steps.FORMATS``, as [height, width, channels] of the model's
    input: as stored where ``spec`` quantizes, else float32."""
    library = native.library()
    if library is None:
        return preprocess_image(spec, unpack(data, format, width, height), order_of(format))
    return _image(spec, format, width, height).run(data)


def preprocess_samples(spec: Preprocessing, samples: np.ndarray) -> np.ndarray:
    """int16 samples as [frames, features]: as stored where ``spec`` quantizes, else float32."""
    return preprocess_audio(spec, samples) if native.library() is None else _audio(spec).run(samples)


# Making a plan takes longer than running it, and pictures of a folder often have one size.
@lru_cache(8)
def _image(spec: Preprocessing, format: str, width: int, height: int) -> CompiledImage:
    library = native.library()
    assert library is not None
    return CompiledImage(library, plan_image(spec, format, width, height))


@lru_cache(8)
def _audio(spec: Preprocessing) -> CompiledAudio:
    library = native.library()
    assert library is not None
    return CompiledAudio(library, plan_audio(spec))
