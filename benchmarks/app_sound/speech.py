"""Speech for a composed recording: sentences and keywords of espeak-ng, and recordings from Debian packages."""

from __future__ import annotations

import io
import re
import subprocess
import wave
from pathlib import Path

import numpy as np
from scipy.signal import resample_poly

from arenite.errors import ToolError
from arenite.files import cache_directory

RATE = 16000
#: Debian packages with recorded prompts in English, French, Spanish and Italian, and readers of a novel.
PACKAGES = (
    "asterisk-core-sounds-en-wav",
    "asterisk-core-sounds-fr-wav",
    "asterisk-core-sounds-es-wav",
    "asterisk-core-sounds-it-wav",
    "pocketsphinx-testdata",
)
#: Texts of this repository that espeak-ng reads.
_TEXTS = ("LICENSE", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md")
_ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-029")
_VARIANTS = ("", "+m1", "+m3", "+m7", "+f1", "+f2", "+f3", "+f4")


def recordings() -> list[Path]:
    """Return the WAV files of the Debian packages, sorted. They are downloaded once, and never installed."""
    folder = cache_directory() / "benchmarks" / "speech"
    for package in PACKAGES:
        target = folder / package
        if target.is_dir():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        _run(["apt-get", "download", "-q", package], folder)
        archive = next(folder.glob(f"{package}_*.deb"))
        _run(["dpkg-deb", "-x", archive.name, f"{package}.part"], folder)
        (folder / f"{package}.part").rename(target)
        archive.unlink()
    return sorted(folder.glob("*/usr/share/**/*.wav"))


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise ToolError(
            f"{command[0]} failed: {done.stderr.strip()[:300]}",
            "Run it on Debian, or give --speech DIR with WAV files.",
        )


def read_speech(path: Path | io.BytesIO) -> np.ndarray:
    """Return the samples of a 16-bit WAV file at 16 kHz, as real numbers. Other rates are resampled."""
    with wave.open(str(path) if isinstance(path, Path) else path, "rb") as file:
        rate = file.getframerate()
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float64)
    return samples if rate == RATE else resample_poly(samples, RATE // 50, rate // 50)


def speak(text: str, rng: np.random.Generator) -> np.ndarray:
    """Return ``text`` spoken by espeak-ng with a random voice, speed and pitch."""
    voice = rng.choice(_ACCENTS) + rng.choice(_VARIANTS)
    speed, pitch = rng.integers(115, 175), rng.integers(30, 71)
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "--stdout", text]
    done = subprocess.run(command, capture_output=True, check=True)
    return _without_silence(read_speech(io.BytesIO(_with_length(done.stdout))))


def _with_length(data: bytes) -> bytes:
    """Return a WAV file of espeak-ng with its real length: it writes to a pipe before it knows the length."""
    return data[:40] + (len(data) - 44).to_bytes(4, "little") + data[44:]


def _without_silence(samples: np.ndarray) -> np.ndarray:
    """Cut the silence at both ends, so that the place of a keyword is known."""
    loud = np.flatnonzero(np.abs(samples) > 0.02 * np.abs(samples).max())
    return samples[loud[0] : loud[-1] + 1]


def sentences(root: Path) -> list[str]:
    """Return sentences of 4 to 30 words of the repository's texts."""
    text = " ".join((root / name).read_text("utf-8") for name in _TEXTS)
    plain = re.sub(r"[^A-Za-z0-9.,;' \n]", " ", text)
    found = [" ".join(part.split()) for part in re.split(r"[.;]\s", plain)]
    return [sentence for sentence in found if 4 <= len(sentence.split()) <= 30]
