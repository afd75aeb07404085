"""The filter of PDM microphones computes the samples of its reference, and passes tones as loud as they are."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from arenite.firmware.app.pdm_filter import (
    BITS_PER_SAMPLE,
    LOWPASS,
    design_lowpass,
    pdm_samples,
    tables_header,
)
from arenite.firmware.sources import APP
from tests.firmware.app.compiled_app import compiled

RATE = 16000


def bit_stream(values: np.ndarray) -> np.ndarray:
    """Return the bits of a second-order sigma-delta modulator for ``values`` in -1 to 1, one per bit."""
    first = second = 0.0
    last = 1.0
    bits = np.zeros(len(values), np.uint8)
    for k, value in enumerate(values):
        first += value - last
        second += first - last
        last = 1.0 if second >= 0 else -1.0
        bits[k] = last > 0
    return bits


def tone(hertz: float, amplitude: float, seconds: float) -> np.ndarray:
    """Return the bits of a tone."""
    times = np.arange(round(seconds * RATE) * BITS_PER_SAMPLE) / (RATE * BITS_PER_SAMPLE)
    return bit_stream(amplitude * np.sin(2 * np.pi * hertz * times))


def decimated(bits: np.ndarray, folder: Path) -> np.ndarray:
    """Return the samples of the C code, called for blocks of 7 samples."""
    library = compiled(folder, ["pdm_decimator.c"], "", {})
    words = np.ascontiguousarray(np.packbits(bits).view(">u4").astype(np.uint32))
    samples = np.zeros(len(bits) // BITS_PER_SAMPLE, np.int16)
    for start in range(0, len(samples), 7):
        count = min(7, len(samples) - start)
        library.pdm_decimate(
            words[2 * start :].ctypes.data_as(ctypes.c_void_p),
            count,
            samples[start:].ctypes.data_as(ctypes.c_void_p),
        )
    return samples


def test_the_tables_are_those_of_the_reference() -> None:
    assert APP.read("pdm_tables.h") == tables_header()


def test_the_lowpass_is_as_designed() -> None:
    pytest.importorskip("scipy")
    assert np.abs(design_lowpass() - LOWPASS).max() <= 1  # rounding differs between versions of SciPy


@pytest.mark.parametrize("kind", ["random", "tone", "ones", "zeros"])
def test_every_sample_is_that_of_the_reference(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    count = 700 * BITS_PER_SAMPLE
    bits = {
        "random": rng.integers(0, 2, count).astype(np.uint8),
        "tone": tone(1000, 0.9, 0.05),
        "ones": np.ones(count, np.uint8),
        "zeros": np.zeros(count, np.uint8),
    }[kind]
    assert np.array_equal(decimated(bits, tmp_path), pdm_samples(bits))


def level(samples: np.ndarray, hertz: float) -> float:
    """Return the amplitude of a tone in ``samples``, after 0.1 s in which the filter settles."""
    part = samples[RATE // 10 :].astype(float)
    turns = np.exp(-2j * np.pi * hertz / RATE * np.arange(len(part)))
    return float(2 * abs(np.mean(part * turns)))


@pytest.mark.parametrize("hertz", [200, 1000, 4000, 6000])
def test_tones_keep_their_level(hertz: float) -> None:
    assert level(pdm_samples(tone(hertz, 0.5, 0.2)), hertz) == pytest.approx(0.5 * 32768, rel=0.06)


def test_a_tone_above_the_band_is_removed() -> None:
    """11 kHz would appear at 5 kHz."""
    assert level(pdm_samples(tone(11000, 0.5, 0.2)), 5000) < 0.01 * 0.5 * 32768


def test_an_offset_is_removed() -> None:
    samples = pdm_samples(bit_stream(np.full(RATE * BITS_PER_SAMPLE // 2, 0.1)))
    assert abs(samples[:64].max()) > 2000 and abs(samples[-100:].mean()) < 20
