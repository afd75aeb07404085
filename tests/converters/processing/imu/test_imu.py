"""Windows of a motion sensor: the C code has the bytes of NumPy, whose values are those of float formulas."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.processing.imu.plan import plan_imu
from arenite.converters.processing.imu.reference import preprocess_imu
from arenite.converters.processing.imu.stream import ImuStream
from arenite.converters.processing.media_files import preprocess_file
from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.compiled_stream import CompiledImuStream
from arenite.converters.processing.preprocess import open_stream, preprocess_motion
from arenite.converters.processing.specification.imu_steps import STATISTICS
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError
from tests.converters.processing.specs import imu_cases
from tests.example_count import example_count

SOURCE: dict[str, Any] = {"kind": "imu", "axes": 3, "rate": 100, "window": 100, "hop": 20, "unit": 8192}
EDGES = [0.5, 5, 15, 40]
BANDS = {"do": "bands", "edges": EDGES, "fft": 128}


def spec_of(*steps: dict[str, Any], **source: Any) -> Preprocessing:
    return Preprocessing.from_json({"source": SOURCE | source, "steps": list(steps)})


def streams(spec: Preprocessing) -> list[ImuStream | CompiledImuStream]:
    """Return the stream of NumPy, and that of C if there is a compiler."""
    library = native.library()
    return [ImuStream(spec)] if library is None else [ImuStream(spec), CompiledImuStream(library, spec)]


@settings(max_examples=example_count(80), deadline=None)
@given(imu_cases(), st.data())
def test_windows_have_the_bytes_of_whole_recordings(
    case: tuple[Preprocessing, np.ndarray], data: st.DataObject
) -> None:
    spec, samples = case
    plan = plan_imu(spec)
    begins = range(0, len(samples) - plan.window + 1, plan.hop)
    expected = [(b + plan.window, preprocess_imu(spec, samples[b:]).tobytes()) for b in begins]
    cuts = data.draw(st.lists(st.integers(0, len(samples)), max_size=10))
    for stream in streams(spec):
        chunks = pairwise([0, *sorted(cuts), len(samples)])
        windows = [w for begin, end in chunks for w in stream.feed(samples[begin:end])]
        assert [(w.position, w.features.tobytes()) for w in windows] == expected
        assert stream.position == len(samples)
        stream.restart(7)
        again = stream.feed(samples)
        assert [(w.position - 7, w.features.tobytes()) for w in again] == expected
    assert preprocess_motion(spec, samples).tobytes() == preprocess_imu(spec, samples).tobytes()


def test_statistics_are_those_of_float_formulas() -> None:
    """Values of samples are in units (here g); ``energy`` is in squares of units."""
    rng = np.random.default_rng(4)
    samples = (rng.normal(0, 900, (100, 3)) + np.array([0, -500, 8192])).astype(np.int16)
    result = preprocess_imu(spec_of({"do": "statistics"}), samples)
    x = samples.astype(np.float64).T / 8192

    def crossings(values: np.ndarray) -> np.ndarray:
        return (np.diff((values >= 0).astype(int), axis=1) != 0).mean(axis=1)

    expected = {
        "mean": x.mean(axis=1),
        "std": x.std(axis=1),
        "rms": np.sqrt((x * x).mean(axis=1)),
        "min": x.min(axis=1),
        "max": x.max(axis=1),
        "peak_to_peak": np.ptp(x, axis=1),
        "zero_crossings": crossings(x),
        "mean_crossings": crossings(x - x.mean(axis=1, keepdims=True)),
        "energy": (x * x).mean(axis=1),
    }
    assert tuple(expected) == STATISTICS
    np.testing.assert_allclose(result, np.stack(list(expected.values()), axis=1), rtol=0, atol=2e-5)


def test_bands_are_those_of_a_float_fft() -> None:
    rng = np.random.default_rng(4)
    t = np.arange(100) / 100
    samples = (
        np.stack([2000 * np.sin(20 * np.pi * t), 8192 + 0 * t, 300 * np.cos(60 * np.pi * t)], axis=1)
        + rng.normal(0, 20, (100, 3))
    ).astype(np.int16)
    result = preprocess_imu(spec_of(BANDS | {"factor": 1.0}), samples)
    x = samples - np.floor(samples.mean(axis=0))
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(100) / 100)
    power = np.abs(np.fft.rfft(x * window[:, np.newaxis], 128, axis=0)) ** 2
    hertz = np.arange(65) * 100 / 128
    bands = [power[(hertz >= low) & (hertz < high)].sum(axis=0) for low, high in pairwise(EDGES)]
    np.testing.assert_allclose(result, np.log(1 + np.stack(bands, axis=1)), rtol=0, atol=0.001)
    assert list(result.argmax(axis=1))[::2] == [1, 2]


def test_without_steps_the_input_is_the_window_itself() -> None:
    samples = np.arange(60, dtype=np.int16).reshape(20, 3) * 400 - 9000
    result = preprocess_motion(spec_of(window=25), samples)
    assert result.shape == (25, 3)
    np.testing.assert_array_equal(result[:20], samples.astype(np.float32) / 8192)
    assert not result[20:].any()


def test_a_file_of_samples_is_read(tmp_path: Path) -> None:
    spec = spec_of({"do": "statistics", "values": ["max"]})
    samples = np.random.default_rng(1).integers(-9000, 9000, (150, 3)).astype(np.int16)
    np.save(tmp_path / "a.npy", samples)
    result = preprocess_file(spec, tmp_path / "a.npy")
    np.testing.assert_allclose(result[0, :, 0], samples[:100].max(axis=0) / 8192)
    np.save(tmp_path / "float.npy", samples.astype(np.float32))
    np.save(tmp_path / "axes.npy", samples[:, :2])
    (tmp_path / "text.npy").write_text("no samples")
    for name, problem in (("float", "float32, expected int16"), ("axes", "150x2"), ("text", "Cannot read")):
        with pytest.raises(UsageError, match=problem):
            preprocess_file(spec, tmp_path / f"{name}.npy")


@pytest.mark.parametrize(
    ("source", "steps", "problem"),
    [
        ({"window": 1}, [], "window is 1"),
        ({"window": 4096, "axes": 17}, [], "69,632 samples, expected at most 65,535"),
        ({}, [{"do": "statistics", "values": ["median"]}], "'median', expected one of mean"),
        ({}, [{"do": "statistics", "values": ["max", "max"]}], "named twice"),
        ({}, [BANDS, {"do": "statistics"}], "in this order"),
        ({}, [BANDS | {"fft": 64}], "window of 100 samples does not fit an FFT of 64"),
        ({}, [BANDS | {"edges": [1, 1.1, 9]}], "no frequency from 1 to 1.1 Hz"),
        ({}, [BANDS | {"edges": [10, 60, 120]}], "last edge is 120 Hz"),
        ({}, [BANDS | {"edges": [3, 2]}], "ascending"),
        ({}, [{"do": "frame", "length": 4, "step": 2}], "'frame' is not allowed here"),
    ],
)
def test_wrong_settings_are_refused(
    source: dict[str, Any], steps: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        open_stream(spec_of(*steps, **source))
    assert caught.value.hint


def test_the_record_survives_json() -> None:
    spec = spec_of({"do": "statistics", "values": ["std", "energy"]}, BANDS)
    assert Preprocessing.from_json(spec.to_json()) == spec
