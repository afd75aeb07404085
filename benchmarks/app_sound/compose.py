"""Compose a recording: speech and pauses, keywords at known places, and noise at four levels."""

from __future__ import annotations

import wave
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from benchmarks.app_sound.speech import RATE, read_speech, speak

#: The level of speech in dBFS (root mean square of what is spoken), and how much it varies.
SPEECH_DB, SPREAD_DB = -26.0, 3.0
#: The levels of the noise in dBFS, each for a quarter of the recording: 54, 30, 20 and 10 dB below speech.
NOISE_DB = (-80.0, -56.0, -46.0, -36.0)
#: Seconds between keywords.
MIN_GAP_S, MAX_GAP_S = 20.0, 40.0
#: The share of espeak-ng in the speech between keywords; the rest are recordings of people.
SYNTHETIC = 0.25
#: A filter that makes pink noise of white noise (3 dB less per octave), to 0.5 dB between 20 Hz and 8 kHz.
_PINK_B = (0.049922035, -0.095993537, 0.050612699, -0.004408786)
_PINK_A = (1.0, -2.494956002, 2.017265875, -0.522189400)
_BABBLE_S, _VOICES = 40, 8


@dataclass(frozen=True)
class Keyword:
    """A keyword in the recording: its text, its first sample, and the one behind its last."""

    text: str
    start: int
    end: int


def compose(
    path: Path,
    seconds: float,
    keywords: Sequence[str],
    people: Sequence[Path],
    texts: Sequence[str],
    seed: int = 0,
) -> list[Keyword]:
    """Write a WAV file, and return its keywords. Equal arguments give equal bytes.

    Args:
        path: the file.
        seconds: its length.
        keywords: what is spoken at the known places, one after the other.
        people: WAV files with speech without keywords.
        texts: sentences that espeak-ng reads between them.
        seed: of all random choices.
    """
    rng = np.random.default_rng(seed)
    total = round(seconds * RATE)
    noise = _Noise(people, np.random.default_rng(seed + 1))
    placed: list[Keyword] = []
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        at = 0
        for text, part in _parts(keywords, people, texts, rng):
            part = part[: total - at]
            if text and at + len(part) < total:
                placed.append(Keyword(text, at, at + len(part)))
            level = NOISE_DB[min(at * len(NOISE_DB) // total, len(NOISE_DB) - 1)]
            mixed = part + noise.next(len(part), level)
            file.writeframes(np.clip(np.round(mixed), -32768, 32767).astype("<i2").tobytes())
            at += len(part)
            if at == total:
                return placed
    raise AssertionError


def _parts(
    keywords: Sequence[str], people: Sequence[Path], texts: Sequence[str], rng: np.random.Generator
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield pauses, speech and keywords without end, each with the keyword's text."""
    count, since, gap = 0, 0.0, rng.uniform(MIN_GAP_S, MAX_GAP_S)
    while True:
        pause = np.zeros(rng.integers(round(0.3 * RATE), round(1.5 * RATE)))
        yield "", pause
        if since >= gap:
            text = keywords[count % len(keywords)]
            yield text, _leveled(speak(text, rng), rng)
            yield "", np.zeros(round(1.0 * RATE))
            count, since, gap = count + 1, 0.0, rng.uniform(MIN_GAP_S, MAX_GAP_S)
            continue
        if rng.random() < SYNTHETIC:
            speech = speak(texts[int(rng.integers(len(texts)))], rng)
        else:
            speech = read_speech(people[int(rng.integers(len(people)))])
        yield "", _leveled(speech, rng)
        since += (len(speech) + len(pause)) / RATE


def _leveled(speech: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return speech with the level of the recording. Its level is that of its loud parts."""
    loud = np.abs(speech) > 0.05 * np.abs(speech).max()
    rms = np.sqrt(np.mean(speech[loud] ** 2)) if loud.any() else 1.0
    return speech * (32768 * 10 ** ((SPEECH_DB + rng.uniform(-SPREAD_DB, SPREAD_DB)) / 20) / rms)


class _Noise:
    """Noise of equal parts of pink noise and of the babble of many voices."""

    def __init__(self, people: Sequence[Path], rng: np.random.Generator) -> None:
        self._rng, self._state, self._at = rng, np.zeros(3), 0
        babble = np.zeros(_BABBLE_S * RATE)
        for _ in range(_VOICES):
            at = 0
            while at < len(babble):
                speech = _leveled(read_speech(people[int(rng.integers(len(people)))]), rng)[
                    : len(babble) - at
                ]
                babble[at : at + len(speech)] += speech
                at += len(speech)
        self._babble = babble / np.sqrt(np.mean(babble**2))

    def next(self, count: int, level_db: float) -> np.ndarray:
        """Return the next ``count`` samples at ``level_db`` dBFS."""
        pink, self._state = lfilter(_PINK_B, _PINK_A, self._rng.normal(0, 1, count), zi=self._state)
        babble = self._babble[(self._at + np.arange(count)) % len(self._babble)]
        self._at += count
        pink = pink / 0.0861  # the deviation of the filter's output
        return np.asarray((pink + babble) * (32768 * 10 ** (level_db / 20) / np.sqrt(2)))
