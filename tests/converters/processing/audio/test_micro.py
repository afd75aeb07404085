"""The micro front end computes the features of the original code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.graph.signal.channels import log_table, rounded_root
from arenite.converters.graph.signal.fft16 import input_order, real_fft, sine_wave
from arenite.converters.processing.audio.micro_plan import plan_micro
from arenite.converters.processing.audio.micro_reference import micro_features, micro_rows
from arenite.converters.processing.audio.micro_tables import filter_bank
from arenite.converters.processing.audio.stream import AudioStream
from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.compiled_stream import CompiledStream
from arenite.converters.processing.skew.check_skew import check_skew
from arenite.converters.processing.specification.micro_step import Micro
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError
from tests.converters.processing.specs import micro_cases, recordings
from tests.example_count import example_count


def micro_spec(samples: int, **settings: Any) -> Preprocessing:
    """Return preprocessing with the micro front end for recordings of ``samples`` samples."""
    source = {"kind": "audio", "rate": 16000, "samples": samples}
    return Preprocessing.from_json({"source": source, "steps": [{"do": "micro", **settings}]})


def original_features(samples: np.ndarray) -> np.ndarray:
    """Return the integer features [windows, 40] that pymicro-features computes, with a window every 10 ms."""
    front_end = pytest.importorskip("pymicro_features").MicroFrontend()
    data = samples.astype("<i2").tobytes()
    rows = [front_end.process_samples(data[k : k + 320]).features for k in range(0, len(data) - 319, 320)]
    return np.array([row for row in rows if row]) / 0.0390625


@pytest.mark.slow
@settings(max_examples=example_count(60), deadline=None)
@given(recordings(6400))
def test_features_equal_those_of_pymicro_features(samples: np.ndarray) -> None:
    ours = micro_features(plan_micro(micro_spec(len(samples), step=160)), samples)
    theirs = original_features(samples)
    assert ours.shape == (38, 40)
    assert np.array_equal(ours, theirs)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(micro_cases(), st.data())
def test_a_stream_has_the_rows_of_the_whole_recording(
    case: tuple[Preprocessing, np.ndarray], data: st.DataObject
) -> None:
    """The NumPy code and the C code return the newest rows after each window, for samples in pieces of any size."""
    spec, samples = case
    plan = plan_micro(spec)
    advance = data.draw(st.integers(1, plan.frames))
    count = (len(samples) - plan.length) // plan.step + 1 if len(samples) >= plan.length else 0
    whole = replace(plan, samples=len(samples), frames=count)
    rows = np.zeros((0, plan.features), plan.dtype)
    if count:
        rows, _ = micro_rows(spec, whole, samples, np.zeros(plan.features, np.int64))
    expected = [rows[k - plan.frames : k] for k in range(plan.frames, count + 1, advance)]
    library = native.library()
    streams: list[AudioStream | CompiledStream] = [AudioStream(spec, advance)]
    streams += [] if library is None else [CompiledStream(library, spec, advance)]
    size = data.draw(st.integers(40, 3000))
    for stream in streams:
        windows = [w for at in range(0, len(samples), size) for w in stream.feed(samples[at : at + size])]
        assert [w.features.tobytes() for w in windows] == [r.tobytes() for r in expected]


def test_skew_compares_with_pymicro_features() -> None:
    pytest.importorskip("pymicro_features")
    rng = np.random.default_rng(2)
    samples = rng.normal(0, 900, 8000).astype(np.int16)
    report = check_skew(micro_spec(9000, step=160), [samples])
    assert [(step.step, step.agrees) for step in report.steps] == [("micro", True)]
    assert report.steps[0].library.startswith("pymicro-features") and report.steps[0].values == 54 * 40


def test_the_fft_is_close_to_an_exact_one() -> None:
    rng = np.random.default_rng(3)
    for length in (32, 64, 128, 256, 512, 1024):
        values = rng.integers(-16000, 16001, (3, length))
        re, im = real_fft(values, sine_wave(length))
        exact = np.fft.rfft(values) / length
        assert np.abs(re + 1j * im - exact).max() < 4


def test_the_order_of_the_fft_is_a_permutation_of_all_numbers() -> None:
    assert input_order(8).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert input_order(16).tolist() == [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]


def test_weights_are_those_of_single_precision() -> None:
    """Two of the weights differ by one from those of exact logarithms."""
    bank = filter_bank(Micro(), 16000, 512)
    assert (bank.first, bank.last, bank.is_complementary) == (5, 241, True)
    assert (bank.weights[144], bank.weights[216]) == (2471, 1401)
    assert log_table()[[0, 1, 57, 127, 128]].tolist() == [0, 224, 5641, 142, 0]


@given(st.integers(0, 2**64 - 1))
def test_a_root_is_the_nearest_integer(value: int) -> None:
    root = rounded_root(value)
    assert abs(value - root * root) <= root or root in (0xFFFF, 0xFFFFFFFF)


def test_silence_has_no_features() -> None:
    assert not micro_features(plan_micro(micro_spec(2000)), np.zeros(2000, np.int16)).any()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"high": 8100.0}, "reach half the sample rate"),
        ({"low": 500.0, "high": 400.0}, "not an ascending range"),
        ({"length": 3000}, "2000 samples are less than a window of 3000"),
        ({"even_smoothing": 1.5}, "even_smoothing"),
        ({"hop": 160}, "does not take 'hop'"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        plan_micro(micro_spec(2000, **settings))


def test_the_step_takes_the_place_of_all_others() -> None:
    source = {"kind": "audio", "rate": 16000, "samples": 2000}
    steps = [{"do": "peak"}, {"do": "micro"}]
    with pytest.raises(UsageError, match="step micro instead of all these"):
        Preprocessing.from_json({"source": source, "steps": steps})
