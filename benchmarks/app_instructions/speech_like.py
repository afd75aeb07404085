"""Sound that is like speech: voiced syllables with formants, hissing ones, pauses, and noise in the background.

The number of instructions of a front end depends a little on its samples: on how many values are small, and on whether
channels rise above their noise. So the usual number is measured with sound that has the spectrum and the rhythm of
speech.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

#: The levels of the speech and of the noise in the background, in dBFS.
SPEECH_DB, NOISE_DB = -26.0, -55.0
#: The first three formants of vowels, in Hz, and their bandwidths.
_VOWELS = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410))
_BANDWIDTHS = (80, 100, 140)
_PINK_B = (0.049922035, -0.095993537, 0.050612699, -0.004408786)
_PINK_A = (1.0, -2.494956002, 2.017265875, -0.522189400)


def speech_like(count: int, rate: int, seed: int = 5) -> np.ndarray:
    """Return ``count`` int16 samples. Equal arguments give equal samples."""
    rng = np.random.default_rng(seed)
    voice = np.zeros(count)
    at = 0
    while at < count:
        at += round(rate * (rng.uniform(0.3, 0.8) if rng.random() < 0.2 else rng.uniform(0, 0.06)))
        part = _syllable(round(rate * rng.uniform(0.12, 0.3)), rate, rng)[: max(count - at, 0)]
        voice[at : at + len(part)] += part
        at += len(part)
    loud = np.abs(voice) > 0.05 * np.abs(voice).max()
    voice *= 10 ** (SPEECH_DB / 20) / np.sqrt(np.mean(voice[loud] ** 2))
    noise = np.asarray(lfilter(_PINK_B, _PINK_A, rng.normal(0, 1, count + rate)))[rate:]
    noise *= 10 ** (NOISE_DB / 20) / np.sqrt(np.mean(noise**2))
    return np.clip(np.round((voice + noise) * 32768), -32768, 32767).astype(np.int16)


def _syllable(count: int, rate: int, rng: np.random.Generator) -> np.ndarray:
    """Return a syllable: a consonant that hisses, or a vowel whose pitch falls."""
    shape = np.sin(np.pi * (np.arange(count) + 0.5) / count) ** 0.7
    if rng.random() < 0.25:
        hiss = np.diff(rng.normal(0, 0.3, count + 1))
        return np.asarray(0.25 * hiss * shape)
    pitch = rng.uniform(90, 220) * np.linspace(1.08, 0.9, count)
    phase = np.cumsum(pitch / rate)
    pulses = np.diff(np.floor(phase), prepend=0.0) + rng.normal(0, 0.01, count)
    sound = np.asarray(lfilter((1.0,), (1.0, -0.95), pulses))  # the glottis: 6 dB less per octave
    for formant, bandwidth in zip(_VOWELS[rng.integers(len(_VOWELS))], _BANDWIDTHS, strict=True):
        if formant < rate / 2:
            r = np.exp(-np.pi * bandwidth / rate)
            poles = (1.0, -2 * r * np.cos(2 * np.pi * formant / rate), r * r)
            sound = np.asarray(lfilter((1 - r,), poles, sound))
    return np.asarray(sound / np.sqrt(np.mean(sound**2)) * shape)
