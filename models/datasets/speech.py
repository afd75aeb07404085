"""Spoken words made by the command `espeak-ng`: many voices, speeds and pitches, in one second at 16 kHz."""

from __future__ import annotations

import io
import shutil
import subprocess
import wave
from dataclasses import dataclass
from functools import cache

import numpy as np

from arenite.errors import ToolError, UsageError

RATE = 16_000
SAMPLES = 16_000

#: Ways to speak English, and voices; those of the test are other voices than those of the training.
ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbclan", "en-gb-x-gbcwmd", "en-029")
VOICES = (
    *("m1", "m2", "m3", "m4", "m5", "f1", "f2", "f3", "Alex", "Alicia", "Andrea", "Andy", "Annie", "Denis"),
    *("Diogo", "Gene", "Henrique", "Jacky", "Lee", "Linda", "Marcelo", "Marco", "Mario", "Max", "Michael"),
)
TEST_VOICES = ("m6", "m7", "m8", "f4", "f5", "Belinda", "Mike", "Pablo", "Steph", "Travis")


@dataclass(frozen=True)
class Speaker:
    """How a word is said: words per minute and a pitch of 0 to 99, as espeak-ng counts them."""

    accent: str
    voice: str
    speed: int
    pitch: int


def random_speaker(voices: tuple[str, ...], rng: np.random.Generator) -> Speaker:
    return Speaker(
        ACCENTS[rng.integers(len(ACCENTS))],
        voices[rng.integers(len(voices))],
        int(rng.integers(110, 210)),
        int(rng.integers(25, 75)),
    )


@cache
def espeak_executable() -> str:
    """The path of the command. Raises ``UsageError`` when it is not installed."""
    path = shutil.which("espeak-ng")
    if path is None:
        raise UsageError(
            "The speech data are made by the command espeak-ng, which is not installed.",
            "Install it, for example: apt install espeak-ng.",
        )
    return path


def speak_word(word: str, speaker: Speaker) -> np.ndarray:
    """``word`` as float64 samples at ``RATE``, of any length, silence at both ends cut off; the largest is 1.

    Raises ``UsageError`` without espeak-ng, ``ToolError`` when it fails.
    """
    command = [
        *(espeak_executable(), "--stdout", "-v", f"{speaker.accent}+{speaker.voice}"),
        *("-s", str(speaker.speed), "-p", str(speaker.pitch), word),
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=60)
        with wave.open(io.BytesIO(_with_sizes(done.stdout))) as file:
            rate = file.getframerate()
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float64)
    except (OSError, subprocess.TimeoutExpired, wave.Error, EOFError) as error:
        raise ToolError(f"espeak-ng failed to say '{word}': {error}.", "Try it: espeak-ng hello.") from error
    loud = np.flatnonzero(np.abs(samples) > 0.02 * np.abs(samples).max(initial=0.0))
    if not len(loud):
        raise ToolError(f"espeak-ng said nothing for '{word}' as {speaker}.", "Try it: espeak-ng hello.")
    cut = samples[loud[0] : loud[-1] + 1]
    return resampled(cut / np.abs(cut).max(), rate)


def _with_sizes(data: bytes) -> bytes:
    """A WAV file that was written to a pipe, where the sizes in its header were not known yet, with them set."""
    at = data.find(b"data", 12)
    if data[:4] != b"RIFF" or at < 0:
        return data
    size = len(data) - at - 8
    return (
        data[:4]
        + (len(data) - 8).to_bytes(4, "little")
        + data[8 : at + 4]
        + size.to_bytes(4, "little")
        + data[at + 8 :]
    )


def resampled(samples: np.ndarray, rate: int) -> np.ndarray:
    """From ``rate`` to ``RATE`` by leaving out, or filling up, the highest frequencies of the spectrum."""
    count = max(1, round(len(samples) * RATE / rate))
    spectrum = np.fft.rfft(samples)
    return np.fft.irfft(spectrum[: count // 2 + 1], count) * (count / len(samples))


def place_in_one_second(word: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """int16 [SAMPLES]: ``word`` somewhere in a second, at some loudness, with some noise; None: noise alone."""
    noise = _noise(rng)
    if word is None:
        mixed = noise * 10 ** rng.uniform(-3.5, -1.0)
    else:
        word = word[:SAMPLES]
        clip = np.zeros(SAMPLES)
        start = int(rng.integers(0, SAMPLES - len(word), endpoint=True))
        clip[start : start + len(word)] = word
        mixed = clip * 10 ** rng.uniform(-1.0, -0.1) + noise * 10 ** rng.uniform(-3.5, -1.7)
    return np.clip(np.round(mixed * 32767), -32768, 32767).astype(np.int16)


def _noise(rng: np.random.Generator) -> np.ndarray:
    """A second of noise of root mean square 1, whose power falls with the frequency to some power from 0 to 2."""
    spectrum = np.fft.rfft(rng.standard_normal(SAMPLES))
    spectrum[1:] /= np.arange(1, len(spectrum)) ** (rng.uniform(0.0, 2.0) / 2)
    spectrum[0] = 0
    noise = np.fft.irfft(spectrum, SAMPLES)
    value: np.ndarray = noise / noise.std()
    return value
