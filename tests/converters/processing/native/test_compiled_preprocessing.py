"""The compiled C code gives the same bytes as the NumPy code."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.graph.signal.channels import rounded_root
from arenite.converters.processing.audio.micro_plan import plan_micro
from arenite.converters.processing.audio.micro_reference import preprocess_micro
from arenite.converters.processing.audio.plan import plan_audio
from arenite.converters.processing.audio.reference import preprocess_audio
from arenite.converters.processing.image.plan import plan_image
from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.image.resample import OPENCV_BITS, WEIGHT_BITS, axis
from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.compiled_preprocessing import (
    CompiledAudio,
    CompiledImage,
)
from arenite.converters.processing.specification.image_steps import PAIRS
from arenite.converters.processing.specification.pixel_formats import color_order, unpack
from arenite.converters.processing.specification.preprocessing import Preprocessing
from tests.converters.processing.specs import audio_cases, image_cases, micro_cases
from tests.example_count import example_count


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    """Return the compiled library."""
    loaded = native.library()
    return pytest.skip(native.unavailable_reason()) if loaded is None else loaded


@pytest.mark.slow
@settings(max_examples=example_count(300), deadline=None)
@given(image_cases())
def test_images_have_the_bytes_of_the_numpy_code(
    library: ctypes.CDLL, case: tuple[Preprocessing, str, int, int, np.ndarray]
) -> None:
    spec, format, width, height, data = case
    expected = preprocess_image(spec, unpack(data, format, width, height), color_order(format))
    plan = plan_image(spec, format, width, height)
    for plain in (False, True):
        actual = CompiledImage(library, plan, plain=plain).run(data)
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
        assert actual.tobytes() == expected.tobytes()
    planes = CompiledImage(library, plan, planar=True).run(data)
    assert planes.tobytes() == expected.transpose(2, 0, 1).tobytes()


@pytest.mark.slow
@settings(max_examples=example_count(200), deadline=None)
@given(audio_cases())
def test_audio_has_the_bytes_of_the_numpy_code(
    library: ctypes.CDLL, case: tuple[Preprocessing, np.ndarray]
) -> None:
    spec, samples = case
    expected = preprocess_audio(spec, samples)
    actual = CompiledAudio(library, plan_audio(spec)).run(samples)
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    assert actual.tobytes() == expected.tobytes()


@pytest.mark.slow
@settings(max_examples=example_count(80), deadline=None)
@given(micro_cases())
def test_the_micro_front_end_has_the_bytes_of_the_numpy_code(
    library: ctypes.CDLL, case: tuple[Preprocessing, np.ndarray]
) -> None:
    spec, samples = case
    expected = preprocess_micro(spec, samples)
    actual = CompiledAudio(library, plan_micro(spec)).run(samples)
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    assert actual.tobytes() == expected.tobytes()


def test_square_roots_have_the_value_of_the_numpy_code(library: ctypes.CDLL) -> None:
    root = library.ar_rounded_root
    root.argtypes, root.restype = [ctypes.c_uint64], ctypes.c_uint32
    rng = np.random.default_rng(1)
    roots = [int(rng.integers(0, 1 << 32)) >> int(rng.integers(0, 32)) for _ in range(3000)]
    around = [r * r + d for r in (*roots, 65535, 65536, 2**32 - 1) for d in (-1, 0, 1, r, r + 1, 2 * r)]
    values = [0, *(max(v, 0) for v in around), 2**64 - 1]
    assert [root(v) for v in values] == [rounded_root(v) for v in values]


@settings(max_examples=example_count(200), deadline=None)
@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from(sorted(PAIRS)), st.data())
def test_axes_meet_the_conditions_of_the_c_code(
    size: int, outputs: int, convention: str, data: st.DataObject
) -> None:
    """An axis has the source pixels (taps) and weights of each output pixel. All taps are inside the source, the
    first taps of successive outputs never decrease, weights sum to one, and sums fit into the accumulator."""
    method = data.draw(st.sampled_from(PAIRS[convention]))
    if (convention, method) == ("opencv", "area") and outputs > size:
        return
    side = axis(size, outputs, method, convention)
    assert side.start.min() >= 0 and int(side.start.max()) + side.taps <= size
    assert (np.diff(side.start) >= 0).all()
    bits = OPENCV_BITS if (convention, method) == ("opencv", "bilinear") else WEIGHT_BITS
    totals = side.weights.astype(np.int64).sum(axis=1)
    assert side.weights.min() >= 0 and (np.abs(totals - (1 << bits)) <= side.taps).all()
    assert 255 * int(totals.max()) + (1 << (bits - 1)) < 1 << (bits + 8)
