"""The generator of machine sounds: equal seeds give equal sounds, and each fault changes the sound in its own way."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.models.datasets.machine_sounds import FAULTS, LEVEL, RATE, fan


def bands(samples: np.ndarray) -> np.ndarray:
    """Return the energy of 20 bands of frequencies in decibels."""
    frames = samples[: len(samples) // 1024 * 1024].reshape(-1, 1024) * np.hanning(1024)
    power = (np.abs(np.fft.rfft(frames)) ** 2).mean(0)[1:501]
    return np.asarray(10 * np.log10(power.reshape(20, -1).sum(1)))


def test_a_healthy_fan_has_its_level_and_does_not_clip() -> None:
    samples = fan(10, np.random.default_rng(1))
    assert samples.dtype == np.int16 and len(samples) == 10 * RATE
    assert 0.6 * LEVEL < np.sqrt(np.mean(samples.astype(float) ** 2)) < 1.6 * LEVEL
    assert np.abs(samples.astype(int)).max() < 32767
    assert np.array_equal(samples, fan(10, np.random.default_rng(1)))


def test_each_fault_changes_the_spectrum_more_than_chance() -> None:
    healthy = [bands(fan(10, np.random.default_rng(seed))) for seed in range(4)]
    spread = max(np.abs(a - healthy[0]).max() for a in healthy[1:])
    changes = {fault: bands(fan(10, np.random.default_rng(9), fault)) - healthy[0] for fault in FAULTS}
    for fault, change in changes.items():
        assert np.abs(change).max() > 1.5 * spread, fault
    assert int(np.argmax(changes["bearing"])) in range(6, 11)  # 3,200 Hz; a band has 391 Hz
    assert int(np.argmax(changes["squeal"])) in (5, 6)  # 2,300 Hz


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(KeyError):
        fan(1, np.random.default_rng(0), "rust")
