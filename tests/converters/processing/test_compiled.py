"""The compiled C code gives the bytes of the NumPy code."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings

from arenite.converters.processing import native
from arenite.converters.processing.audio import preprocess_audio
from arenite.converters.processing.audio_plan import plan_audio
from arenite.converters.processing.colour import order_of, unpack
from arenite.converters.processing.compiled import CompiledAudio, CompiledImage
from arenite.converters.processing.image import preprocess_image
from arenite.converters.processing.image_plan import plan_image
from arenite.converters.processing.spec import Preprocessing
from tests.converters.processing.specs import audio_cases, image_cases


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = native.library()
    return pytest.skip(native.reason()) if found is None else found


@settings(max_examples=300, deadline=None)
@given(image_cases())
def test_pictures(library: ctypes.CDLL, case: tuple[Preprocessing, str, int, int, np.ndarray]) -> None:
    spec, format, width, height, data = case
    want = preprocess_image(spec, unpack(data, format, width, height), order_of(format))
    got = CompiledImage(library, plan_image(spec, format, width, height)).run(data)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    assert got.tobytes() == want.tobytes()


@settings(max_examples=200, deadline=None)
@given(audio_cases())
def test_sounds(library: ctypes.CDLL, case: tuple[Preprocessing, np.ndarray]) -> None:
    spec, samples = case
    want = preprocess_audio(spec, samples)
    got = CompiledAudio(library, plan_audio(spec)).run(samples)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    assert got.tobytes() == want.tobytes()
