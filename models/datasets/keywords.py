"""Ten spoken commands, other words and noise, synthesized by espeak-ng, for MLPerf Tiny's keyword spotting model.

The preprocessing, which is recorded in the network's image, computes 49 frames of 10 mel-frequency cepstral
coefficients from windows of 30 ms every 20 ms. Test samples have voices that do not occur in training samples.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import zipfile
from collections.abc import Callable

import numpy as np

from arenite.converters.processing.preprocess import preprocess_samples
from arenite.converters.processing.specification.audio_steps import (
    AudioSource,
    AudioWindow,
    Fft,
    Frame,
    Log,
    Mel,
    Mfcc,
)
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.files import cache_directory, replace_file
from arenite.models.datasets import speech
from arenite.models.datasets.fixed_size import reject_resolution
from arenite.models.datasets.progress_bar import progress_bar
from arenite.models.datasets.training_data import CLASSIFY, TrainingData, TrainingSettings

COMMANDS = ("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go")
LABELS = (*COMMANDS, "unknown", "silence")

#: Words that are not commands. No test word is a training word.
OTHER_WORDS = (
    *(
        "bed",
        "bird",
        "cat",
        "dog",
        "eight",
        "five",
        "four",
        "happy",
        "house",
        "marvin",
        "nine",
        "one",
        "seven",
    ),
    *("sheila", "six", "three", "tree", "two", "wow", "zero", "water", "paper", "music", "table", "door"),
)
TEST_OTHER_WORDS = (
    "backward",
    "forward",
    "follow",
    "learn",
    "visual",
    "window",
    "garden",
    "seat",
    "bread",
    "lamp",
)

#: The number of samples per label.
TRAINING_PER_LABEL, TEST_PER_LABEL = 250, 80

FRONT_END = Preprocessing(
    AudioSource(speech.RATE, speech.SAMPLES),
    (
        Frame(480, 320),
        AudioWindow("hann"),
        Fft(512),
        Mel(40, 20.0, 4000.0),
        Log(offset=1e-6),
        Mfcc(10),
    ),
)


def keywords(resolution: int | None = None, progress: bool = True) -> TrainingData:
    """Return the data. A sample has the shape (49, 10, 1) and is computed from one second of sound. The data are
    generated once, in one to two minutes, and kept in the cache.

    Raises ``UsageError`` if espeak-ng is not installed, and ``ToolError`` if it fails.
    """
    reject_resolution("keywords", resolution)
    arrays = _make_data(progress)
    return TrainingData(
        name="keywords",
        title="ten commands, other words and noise, spoken by espeak-ng; other voices in the test",
        task=CLASSIFY,
        x_train=arrays["x_train"],
        y_train=arrays["y_train"],
        x_test=arrays["x_test"],
        y_test=arrays["y_test"],
        labels=LABELS,
        licence="generated on this computer; espeak-ng, which is GPL-3.0, is run as a command",
        settings=TrainingSettings(epochs=30),
        preprocessing=FRONT_END,
    )


def _make_data(progress: bool) -> dict[str, np.ndarray]:
    """Return the arrays of the data set from the cache. Generate and store them if they are not there."""
    path = cache_directory() / "datasets" / f"keywords-{_key()}.npz"
    try:
        with np.load(path) as file:
            return {name: file[name] for name in ("x_train", "y_train", "x_test", "y_test")}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        pass  # the file does not exist yet, or is damaged
    arrays: dict[str, np.ndarray] = {}
    total = len(LABELS) * (TRAINING_PER_LABEL + TEST_PER_LABEL)
    with progress_bar("generating speech", total, progress) as advance:
        for part, count, voices, others, seed in (
            ("train", TRAINING_PER_LABEL, speech.VOICES, OTHER_WORDS, 0),
            ("test", TEST_PER_LABEL, speech.TEST_VOICES, TEST_OTHER_WORDS, 1),
        ):
            x, y = _speak_samples(count, voices, others, seed, advance)
            arrays |= {f"x_{part}": x, f"y_{part}": y}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    replace_file(path, buffer.getvalue())
    return arrays


def _speak_samples(
    count: int, voices: tuple[str, ...], others: tuple[str, ...], seed: int, advance: Callable[[], None]
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``count`` samples of each label, and their class numbers.

    ``voices`` are the voices of espeak-ng, ``others`` the words for the label "unknown". ``advance`` is called after
    each sample.
    """
    rng = np.random.default_rng(seed)
    x, y = [], []
    for label, name in enumerate(LABELS):
        for _ in range(count):
            word = others[rng.integers(len(others))] if name == "unknown" else name
            speaker = speech.random_speaker(voices, rng)
            sound = None if name == "silence" else speech.speak_word(word, speaker)
            x.append(preprocess_samples(FRONT_END, speech.place_in_one_second(sound, rng))[..., np.newaxis])
            y.append(label)
            advance()
    return np.stack(x), np.array(y)


def _key() -> str:
    """Return a hash of everything that determines the samples."""
    # The version is followed by "Data at" and a folder, which does not change the samples.
    version = subprocess.run([speech.espeak_executable(), "--version"], capture_output=True).stdout
    parts = (
        *(
            COMMANDS,
            OTHER_WORDS,
            TEST_OTHER_WORDS,
            TRAINING_PER_LABEL,
            TEST_PER_LABEL,
            speech.ACCENTS,
            speech.VOICES,
            speech.TEST_VOICES,
        ),
        *(FRONT_END.to_json(), version.decode("utf-8", "replace").split("Data at")[0]),
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
