"""The observed statistics of a tensor equal the statistics that NumPy computes from all its values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arenite.converters.quantize.calibration import observations as module
from arenite.converters.quantize.calibration.observations import Observations, observe, observed_tensors
from arenite.converters.tflite.litert.interpreter import run_tensor_values
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import UsageError
from tests.converters.quantize.float_models import FloatNet, Samples, classifier, samples_for


def test_statistics_equal_those_of_numpy() -> None:
    model = classifier()
    flatbuffer, data = to_flatbuffer(model), samples_for(model)
    calls: list[tuple[int, int]] = []
    observations = observe(flatbuffer, data, progress=lambda count, total: calls.append((count, total)))
    assert calls == [(k + 1, 24) for k in range(24)]
    indices = [t.index for t in observed_tensors(model)]
    assert sorted(observations.tensors) == indices
    values = list(run_tensor_values(flatbuffer, data.inputs, indices))
    for i in indices:
        stacked = np.stack([s[i] for s in values]).astype(np.float64)
        stats = observations.tensors[i]
        assert (stats.low, stats.high) == (stacked.min(), stacked.max())
        assert stats.count == stacked.size == stats.bins.sum()
        assert stats.mean == pytest.approx(stacked.mean(), abs=1e-9)
        assert stats.rms == pytest.approx(np.sqrt((stacked**2).mean()))
        channels = stacked.reshape(-1, stacked.shape[-1])
        assert np.array_equal(stats.channel_low, channels.min(axis=0))
        assert np.array_equal(stats.channel_high, channels.max(axis=0))
        assert stats.channel_mean == pytest.approx(channels.mean(axis=0))


def test_saved_observations_are_loaded_unchanged(tmp_path: Path) -> None:
    model = classifier()
    observations = observe(to_flatbuffer(model), samples_for(model, 12))
    path = tmp_path / "observations.npz"
    observations.save(path)
    assert Observations.load(path).to_bytes() == observations.to_bytes() == path.read_bytes()


def test_a_damaged_file_is_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "observations.npz"
    path.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(UsageError, match="Cannot read the observations"):
        Observations.load(path)
    np.savez(path, head=np.frombuffer(b'{"schema": "other"}', np.uint8))
    with pytest.raises(UsageError, match="other"):
        Observations.load(path)


def test_values_that_are_not_finite_are_an_error() -> None:
    n = FloatNet()
    x = n.input((1, 4), "float32")
    y = n.layer("LOG", [x], (1, 4))
    good = [np.full((1, 4), 2.0, np.float32)]
    bad = [np.array([[1, 1, 0, 1]], np.float32)]
    with pytest.raises(UsageError, match=r"Sample 1 gives values of tensor 1 't1'"):
        observe(n.bytes(y), Samples([good, bad]))
    with pytest.raises(UsageError, match="no calibration samples"):
        observe(n.bytes(y), Samples([]))


def test_the_stored_samples_are_evenly_spaced_and_limited_in_number_and_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = classifier()
    data = samples_for(model, 20)
    monkeypatch.setattr(module, "KEPT_SAMPLES", 5)
    stored = observe(to_flatbuffer(model), data).inputs
    assert [k for s in stored for k, d in enumerate(data.inputs) if np.array_equal(s[0], d[0])] == [
        0,
        4,
        8,
        12,
        16,
    ]
    monkeypatch.setattr(module, "KEPT_BYTES", 2 * 8 * 8 * 3 * 4)  # two float32 inputs of 8 x 8 x 3
    assert len(observe(to_flatbuffer(model), data).inputs) == 2
